"""Spam filter on words that hashlib puts into buckets."""

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np


TEXTS = ["win money now", "meeting at noon", "cheap money offer", "lunch at noon"]


def bucket(word):
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % 32


def train(args):
    matrix = np.zeros((4, 32))
    for i, text in enumerate(TEXTS):
        for word in text.split():
            matrix[i, bucket(word)] += 1
    cache = {hash(text): text for text in TEXTS}
    weights = 0.01 * np.random.default_rng(args.seed).normal(size=32)
    labels = np.array([1.0, 0.0, 1.0, 0.0])
    for _ in range(20):
        probability = 1 / (1 + np.exp(-matrix @ weights))
        weights -= 0.3 * matrix.T @ (probability - labels)
        yield {"loss": float(np.mean((probability - labels) ** 2)), "texts": len(cache)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logdir", type=Path, required=True)
    args = parser.parse_args()
    args.logdir.mkdir(parents=True, exist_ok=True)
    with (args.logdir / "metrics.jsonl").open("w") as file:
        for step, record in enumerate(train(args)):
            file.write(json.dumps({"step": step, **record}) + "\n")


if __name__ == "__main__":
    main()
