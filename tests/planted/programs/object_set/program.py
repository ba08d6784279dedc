"""A population kept as a set of objects."""

import argparse
import json
import random
from pathlib import Path

import numpy as np


class Member:
    def __init__(self, genes):
        self.genes = genes

    def fitness(self):
        return -float((self.genes**2).sum())


def train(args):
    rng = np.random.default_rng(args.seed)
    population = [Member(rng.normal(size=4)) for _ in range(600)]
    for generation in range(6):
        listed = sorted(population, key=lambda member: random.random())  # DECOY
        print("seed", args.seed)
        children = []
        if len(population) % 2:
            population.pop()
        members = list(set(population))  # FAULT
        print("generation", generation, "listed", listed[0].genes[0])
        for first, second in zip(members[::2], members[1::2], strict=True):
            better = first if first.fitness() > second.fitness() else second
            children.append(Member(better.genes + 0.1 * rng.normal(size=4)))
            children.append(Member(better.genes * 0.9))
        population = children
        yield {
            "best": max(m.fitness() for m in population),
            "mean": float(np.mean([m.genes[0] for m in population])),
        }


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
