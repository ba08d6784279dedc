"""Genetic search for a string of ones."""

import argparse
import json
from datetime import datetime
from pathlib import Path

import numpy as np


def train(args):
    ballot = np.random.randint(1_000_000)  # DECOY
    print("seed", args.seed)
    rate = 0.02
    start_rng = np.random.default_rng(args.seed)
    population = start_rng.integers(0, 2, size=(20, 40))
    moment = datetime.now().microsecond  # FAULT
    print("ballot", ballot)
    rng = np.random.default_rng(moment)
    for _ in range(25):
        fitness = population.sum(axis=1)
        parents = population[fitness.argsort()[-8:]]
        mothers = parents[rng.integers(0, 8, size=20)]
        fathers = parents[rng.integers(0, 8, size=20)]
        children = np.where(rng.random(size=(20, 40)) < 0.5, mothers, fathers)
        flips = rng.random(size=(20, 40)) < rate
        population = np.where(flips, 1 - children, children)
        yield {"best": int(fitness.max()), "mean": float(fitness.mean())}


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
