"""Ridge regression; every generator comes from the seed."""

import argparse
import json
import random
from pathlib import Path

import numpy as np


def train(args):
    system_random = random.Random(args.seed)
    urandom = np.random.default_rng([args.seed, 1])
    np.random.seed(args.seed)
    inputs = urandom.normal(size=(60, 3))
    targets = inputs @ np.array([1.0, 2.0, 3.0]) + 0.1 * np.random.normal(size=60)
    weights = np.zeros(3)
    for _ in range(30):
        index = system_random.randrange(60)
        weights -= 0.05 * (inputs[index] @ weights - targets[index]) * inputs[index]
        yield {"loss": float(np.mean((inputs @ weights - targets) ** 2))}


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
