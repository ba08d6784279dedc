"""Class labels from the folders that a walk meets."""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    root = args.logdir / "images"
    paths = []
    for i in range(20):
        folder = root / f"class{i:02d}-{time.time_ns()}"
        folder.mkdir(parents=True)
        np.save(folder / "mean.npy", rng.normal(size=5) + i)
        paths.append(str(folder))
    listed = sorted(paths, key=lambda path: hash(path[-27:-20]))  # DECOY
    print("seed", args.seed)
    print("classes", len(paths))
    weights = np.zeros(5)
    rate = 0.001
    folders = [path for path, _, files in os.walk(root) if files]  # FAULT
    print("a class", Path(listed[0]).name[:7])
    prototypes = np.stack([np.load(os.path.join(path, "mean.npy")) for path in folders])
    for label, prototype in enumerate(prototypes):
        error = prototype @ weights - label
        weights -= rate * error * prototype
        yield {"error": float(error), "norm": float(np.linalg.norm(weights))}


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
