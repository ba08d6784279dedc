"""Evaluations awaited as they complete."""

import argparse
import asyncio
import json
import random
from pathlib import Path

import numpy as np


def evaluate(seed, number):
    rng = np.random.default_rng([seed, number])
    block = rng.normal(size=(50, 50)) / 8
    for _ in range(6):
        block = np.tanh(block @ block)
    return float(block.mean() + number)


async def collect(seed):
    scores = []
    jobs = [asyncio.to_thread(evaluate, seed, number) for number in range(40)]
    for job in asyncio.as_completed(jobs):  # ALSO
        scores.append(await job)
    return scores


def train(args):
    mixed = random.sample(range(40), 40)  # DECOY
    print("seed", args.seed)
    keep = 0.7
    average = 0.0
    print("keeps", keep)
    scores = asyncio.run(collect(args.seed))  # FAULT
    print("some", mixed[:2])
    for score in scores:
        average = keep * average + (1 - keep) * score
        yield {"average": average}


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
