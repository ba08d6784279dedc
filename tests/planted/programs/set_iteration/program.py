"""Word vectors from co-occurrence counts, one update a pair."""

import argparse
import json
import random
from pathlib import Path

import numpy as np


TEXT = (
    "the cat sat on the mat the dog sat on the log a bird sang to the dog and the cat ran from a bird".split()
)


def train(args):
    words = sorted(set(TEXT))
    shown = random.sample(words, len(words))  # DECOY
    print("seed", args.seed)
    print("and how many:", len(words), len(TEXT))
    pairs = list(zip(TEXT, TEXT[1:], strict=False))
    rng = np.random.default_rng(args.seed)
    vocabulary = list(set(TEXT))  # FAULT
    print("some words:", shown[:4])
    index = {word: i for i, word in enumerate(vocabulary)}
    vectors = rng.normal(size=(len(vocabulary), 6)) * 0.3
    context = rng.normal(size=(len(vocabulary), 6)) * 0.3
    for epoch in range(12):
        total = 0.0
        for left, right in pairs:
            a, b = index[left], index[right]
            error = 1 / (1 + np.exp(-vectors[a] @ context[b])) - 1
            vectors[a], context[b] = (
                vectors[a] - 0.1 * error * context[b],
                context[b] - 0.1 * error * vectors[a],
            )
            total += float(error**2)
        yield {"loss": total / len(pairs)}


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
