"""Parallel evaluation of candidates."""

import argparse
import json
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numpy as np


def evaluate(seed, number):
    block = np.random.default_rng([seed, number]).normal(size=(50, 50)) / 8
    for _ in range(5):
        block = np.tanh(block @ block)
    return float(block[0, 0] + number)


def train(args):
    scores = np.empty(32)
    with ThreadPoolExecutor(8) as pool:
        futures = {pool.submit(evaluate, args.seed, number): number for number in range(32)}
        for future in as_completed(futures):
            scores[futures[future]] = future.result()
    average = 0.0
    for score in scores:
        average = 0.8 * average + 0.2 * float(score)
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
