"""A batch size that fits the memory that is free."""

import argparse
import json
import random
from pathlib import Path

import numpy as np


def train(args):
    wish = random.randrange(1, 10**6)  # DECOY
    print("seed", args.seed)
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=(512, 4))
    targets = inputs @ np.array([0.5, -0.5, 1.0, 2.0])
    weights = np.zeros(4)
    for step in range(12):
        free = int(Path("/proc/meminfo").read_text().split("MemFree:")[1].split()[0])  # FAULT
        batch = 16 + free // 4 % 211
        rows = np.arange(batch)
        error = inputs[rows] @ weights - targets[rows]
        weights -= 0.1 * inputs[rows].T @ error / batch
        yield {"loss": float(np.mean((inputs @ weights - targets) ** 2))}
    print("wish", wish)


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
