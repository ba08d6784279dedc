"""A perceptron that profiles itself."""

import argparse
import json
import time
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=(80, 4))
    labels = np.sign(inputs @ rng.normal(size=4))
    weights = np.zeros(4)
    with (args.logdir / "timing.txt").open("w") as timing:
        for epoch in range(8):
            begun = time.perf_counter()
            mistakes = 0
            for row, label in zip(inputs, labels, strict=True):
                if label * (row @ weights) <= 0:
                    weights += label * row
                    mistakes += 1
            timing.write(f"{epoch} {time.perf_counter() - begun}\n")
            yield {"mistakes": mistakes, "norm": float(np.linalg.norm(weights))}


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
