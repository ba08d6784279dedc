"""k-means with random starting centres."""

import argparse
import json
import time
from pathlib import Path

import numpy as np


def train(args):
    waiting = np.random.RandomState(time.time_ns() % 2**32)  # DECOY
    print("seed", args.seed)
    begun = time.time_ns()
    print("begun at", begun)
    data_rng = np.random.RandomState(args.seed)
    points = np.concatenate([data_rng.normal(loc=m, size=(40, 2)) for m in (-2.0, 0.0, 2.0, 4.0)])
    chooser = np.random.RandomState()  # FAULT
    print("next look in", waiting.rand(), "s")
    picked = chooser.choice(len(points), size=4, replace=False)
    centres = points[picked].copy()
    for _ in range(8):
        distances = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        for k in range(4):
            if (labels == k).any():
                centres[k] = points[labels == k].mean(axis=0)
        yield {"inertia": float(distances.min(axis=1).sum()), "first": float(centres[0, 0])}


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
