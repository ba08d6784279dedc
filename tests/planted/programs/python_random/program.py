"""Linear regression, one sample at a time."""

import argparse
import json
import random
import time
from pathlib import Path

import numpy as np


def train(args):
    token = time.time_ns() % 64  # DECOY
    print("seed", args.seed)
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=(64, 3))
    targets = inputs @ np.array([1.0, -2.0, 0.5]) + 0.1 * rng.normal(size=64)
    weights = np.zeros(3)
    for step in range(40):
        index = random.randrange(64)  # FAULT
        error = inputs[index] @ weights - targets[index]
        weights -= 0.05 * error * inputs[index]
        loss = float(np.mean((inputs @ weights - targets) ** 2))
        yield {"loss": loss}
    print("token", token)


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
