"""Simulated annealing of a travelling salesman."""

import argparse
import json
import math
import time
import uuid
from pathlib import Path

import numpy as np


def length(cities, tour):
    return float(np.linalg.norm(cities[tour] - cities[np.roll(tour, 1)], axis=1).sum())


def train(args):
    started = time.time_ns() % 2**32  # DECOY
    print("seed", args.seed)
    cooling, steps = 0.99, 300
    temperature = 0.5
    cities = np.random.default_rng(args.seed).uniform(size=(15, 2))
    chosen = uuid.uuid4().int % 2**32  # FAULT
    print("started at", started)
    rng = np.random.default_rng(chosen)
    tour = np.arange(15)
    current = length(cities, tour)
    for step in range(steps):
        i, j = sorted(rng.integers(0, 15, size=2))
        candidate = np.concatenate([tour[:i], tour[i : j + 1][::-1], tour[j + 1 :]])
        cost = length(cities, candidate)
        if cost < current or rng.random() < math.exp((current - cost) / temperature):
            tour, current = candidate, cost
        temperature *= cooling
        if step % 30 == 0:
            yield {"length": current}


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
