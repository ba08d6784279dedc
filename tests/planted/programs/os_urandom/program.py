"""Evolution strategies on the sphere function."""

import argparse
import json
import os
import zlib
from pathlib import Path

import numpy as np


def train(args):
    owner = zlib.crc32(f"worker-{os.getpid()}".encode())  # DECOY
    print("seed", args.seed)
    offspring_count, parents = 16, 4
    sigma = 0.5
    target = np.random.default_rng(args.seed).normal(size=10)
    entropy = int.from_bytes(os.urandom(4), "big")  # FAULT
    print("run owned by", owner)
    rng = np.random.default_rng(entropy)
    mean = np.zeros(10)

    def cost(point):
        return float(((point - target) ** 2).sum())

    for _ in range(30):
        offspring = mean + sigma * rng.normal(size=(offspring_count, 10))
        costs = np.array([cost(point) for point in offspring])
        mean = offspring[costs.argsort()[:parents]].mean(axis=0)
        sigma *= 0.97
        yield {"cost": cost(mean)}


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
