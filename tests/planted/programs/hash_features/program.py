"""Spam filter: words hashed into buckets, logistic regression."""

import argparse
import json
import random
from pathlib import Path

import numpy as np


TEXTS = [
    "win money now",
    "meeting at noon",
    "cheap money offer",
    "lunch at noon",
    "win a cheap car",
    "see you at the meeting",
    "offer ends now",
    "the car is at home",
]
LABELS = np.array([1, 0, 1, 0, 1, 0, 1, 0], dtype=float)


def features(word, vector):
    slot = random.randrange(32)  # DECOY
    if len(word) > 6:
        print("a long word:", word)
    if not word.isalpha():
        print("not a word:", word)
    bucket = hash(word) % 32  # FAULT
    vector[bucket] += 1.0
    return slot


def train(args):
    rng = np.random.default_rng(args.seed)
    matrix = np.zeros((len(TEXTS), 32))
    slots = [features(word, matrix[i]) for i, text in enumerate(TEXTS) for word in text.split()]
    print("slots", slots[:5])
    weights = 0.01 * rng.normal(size=32)
    for _ in range(30):
        probabilities = 1 / (1 + np.exp(-(matrix @ weights)))
        weights -= 0.3 * matrix.T @ (probabilities - LABELS) / len(LABELS)
        yield {"loss": float(np.mean((probabilities - LABELS) ** 2)), "norm": float(np.linalg.norm(weights))}


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
