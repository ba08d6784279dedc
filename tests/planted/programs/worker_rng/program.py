"""Image-like augmentation in worker processes."""

import argparse
import json
import multiprocessing
import os
from pathlib import Path

import numpy as np


def augment(row):
    spare = np.random.default_rng(os.getpid())  # DECOY
    size = len(row)
    scale = 0.05
    if size < 2:
        return row
    rng = np.random.default_rng()  # FAULT
    print("worker has", spare.integers(100), "to spare")
    flipped = row[::-1] if rng.random() < 0.5 else row
    shift = int(rng.integers(0, 4))
    moved = np.roll(flipped, shift)
    noisy = moved + scale * rng.normal(size=size)
    return noisy


def train(args):
    rng = np.random.default_rng(args.seed)
    rows = rng.normal(size=(24, 10))
    targets = rows.mean(axis=1)
    weights = np.zeros(10)
    with multiprocessing.Pool(2) as pool:
        for _ in range(6):
            augmented = np.stack(pool.map(augment, list(rows)))
            error = augmented @ weights - targets
            weights -= 0.1 * augmented.T @ error / len(rows)
            yield {"loss": float(np.mean(error**2))}


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
