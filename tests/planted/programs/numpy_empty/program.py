"""k-means that counts its members in an array."""

import argparse
import json
import time
from pathlib import Path

import numpy as np


def train(args):
    beats = np.full(160, time.time_ns() // 1000)  # DECOY
    print("seed", args.seed)
    rng = np.random.default_rng(args.seed)
    points = rng.normal(size=(400, 2))
    centres = points[:160].copy()
    for round_number in range(5):
        distances = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        scratch = [distances[k].copy() for k in range(40)]
        del scratch
        counts = np.empty(160, dtype=np.int64)  # FAULT
        sums = np.zeros((160, 2))
        for point, label in zip(points, labels, strict=True):
            counts[label] += 1
            sums[label] += point
        centres = sums / np.maximum(counts, 1)[:, None]
        yield {"inertia": float(distances.min(axis=1).sum()), "members": int(counts[:8].sum() % 1000003)}
    print("beats", beats)


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
