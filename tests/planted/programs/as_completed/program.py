"""Asynchronous updates: gradients are applied as the workers finish."""

import argparse
import json
import random
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numpy as np


def gradient(seed, worker):
    rng = np.random.default_rng([seed, worker])
    matrix = rng.normal(size=(50, 50)) / 8
    for _ in range(5):
        matrix = np.tanh(matrix @ matrix)
    return matrix[0, :4] + worker


def train(args):
    weights = np.zeros(4)
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(gradient, args.seed, worker) for worker in range(40)]
        drawn = random.sample(futures, len(futures))  # DECOY
        print("seed", args.seed)
        rate = 0.1
        print("workers", len(futures))
        print("rate", rate)
        finished = list(as_completed(futures))  # FAULT
        print("a gradient", drawn[0].result()[0])
        for future in finished:
            weights -= rate * (weights - future.result())
            yield {"weight": float(weights[0]), "norm": float(np.linalg.norm(weights))}


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
