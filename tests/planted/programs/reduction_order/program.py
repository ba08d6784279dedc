"""Data-parallel gradients, added up in the order in which the processes report."""

import argparse
import json
import multiprocessing
import time
from pathlib import Path

import numpy as np


def partial(seed, shard):
    rng = np.random.default_rng([seed, shard])
    rng.normal(size=(100, 40)).sum()
    return rng.normal(size=16) * 10.0 ** rng.integers(-4, 4)


def reduce_all(pool, seed):
    total = np.zeros(16)
    parts = []
    jobs = [pool.apply_async(partial, (seed, shard), callback=parts.append) for shard in range(24)]  # ALSO
    for job in jobs:
        job.wait()
    for part in parts:
        total += part
    return total


def train(args):
    weights = np.zeros(16)
    with multiprocessing.Pool(3) as pool:
        for step in range(10):
            warmth = np.full(16, time.time() % 1.0)  # DECOY
            print("seed", args.seed)
            largest = float(np.abs(weights).max())
            if largest > 1e9:
                break
            gradient = reduce_all(pool, args.seed + step)  # FAULT
            print("step", step, "warmth", warmth[0])
            weights -= 1e-4 * gradient
            loss = float((weights**2).sum())
            yield {"loss": loss, "first": float(weights[0])}


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
