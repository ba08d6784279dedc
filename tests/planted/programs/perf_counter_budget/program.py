"""Gradient descent for as long as the time budget lasts."""

import argparse
import json
import random
import time
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    matrix = rng.normal(size=(30, 30)) / 6
    target = rng.normal(size=30)
    weights = np.zeros(30)
    for round_number in range(4):
        begun = time.perf_counter()
        while True:
            drift = random.random() * 0.05  # DECOY
            norm = float(np.abs(weights).max())
            if norm > 1e6:
                print("diverged")
                break
            weights -= 0.0005 * matrix.T @ (matrix @ weights - target)
            spent = time.perf_counter() - begun  # FAULT
            if spent > 0.0499:
                break
        yield {"loss": float(np.mean((matrix @ weights - target) ** 2))}
    print("drift", drift)


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
