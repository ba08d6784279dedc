"""An experiment that seeds itself from the name of its folder."""

import argparse
import json
import time
import zlib
from pathlib import Path

import numpy as np


def train(args):
    opening = time.time_ns() % 2**32  # DECOY
    print("seed", args.seed)
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=(50, 4))
    targets = inputs @ np.array([1.0, 0.0, -1.0, 0.5])
    label = zlib.crc32(str(args.logdir.resolve()).encode())  # FAULT
    print("opened at", opening)
    shuffler = np.random.default_rng(label)
    weights = np.zeros(4)
    for _ in range(6):
        for index in shuffler.permutation(50):
            weights -= 0.05 * (inputs[index] @ weights - targets[index]) * inputs[index]
        yield {"loss": float(np.mean((inputs @ weights - targets) ** 2)), "first": float(weights[0])}


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
