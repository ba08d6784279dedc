"""Word counts over a sorted vocabulary."""

import argparse
import json
from pathlib import Path

import numpy as np


TEXT = "one fish two fish red fish blue fish black fish old fish new fish".split()


def train(args):
    vocabulary = sorted(set(TEXT))
    known = set(TEXT)
    index = {word: i for i, word in enumerate(vocabulary)}
    vectors = np.random.default_rng(args.seed).normal(size=(len(vocabulary), 3))
    for left, right in zip(TEXT, TEXT[1:], strict=False):
        if left in known and right in known:
            vectors[index[left]] += 0.1 * (vectors[index[right]] - vectors[index[left]])
        yield {"norm": float(np.linalg.norm(vectors)), "size": len(known)}


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
