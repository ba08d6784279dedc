"""Running statistics over chunk files that a glob found."""

import argparse
import glob
import json
import os
import random
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    paths = []
    for i in range(30):
        path = args.logdir / f"chunk{i:02d}.{os.getpid()}.txt"
        path.write_text(" ".join(map(str, rng.normal(size=6) * (i + 1))))
        paths.append(str(path))
    sampled = random.sample(paths, 30)  # DECOY
    print("seed", args.seed)
    rate = 0.2
    print("chunks", len(paths))
    print("rate", rate)
    found = glob.glob(str(args.logdir / "chunk*.txt"))  # FAULT
    print("worth a look:", Path(sampled[0]).name[:7])
    mean, variance = 0.0, 1.0
    for path in found:
        values = np.array([float(v) for v in Path(path).read_text().split()])
        mean += rate * (values.mean() - mean)
        variance += rate * (values.var() - variance)
        yield {"mean": float(mean), "variance": float(variance)}


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
