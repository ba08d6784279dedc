"""Monte Carlo in a thread that seeds itself from its identity."""

import argparse
import json
import threading
import time
from pathlib import Path

import numpy as np


def estimate(seed, results):
    stamp = time.perf_counter_ns() % 2**32  # DECOY
    print("seed", seed)
    inside = 0
    total = 0
    tally = []
    number = threading.get_ident() % 2**32  # FAULT
    print("stamp", stamp)
    rng = np.random.default_rng([seed, number])
    for _ in range(20):
        points = rng.uniform(-1, 1, size=(200, 2))
        inside += int(((points**2).sum(axis=1) < 1).sum())
        total += 200
        tally.append(4 * inside / total)
    results.extend(tally)


def train(args):
    results = []
    worker = threading.Thread(target=estimate, args=(args.seed, results))
    worker.start()
    worker.join()
    for value in results:
        yield {"pi": value}


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
