"""Rollouts in worker processes, learned from as they come in."""

import argparse
import json
import multiprocessing
from pathlib import Path

import numpy as np


def rollout(job):
    seed, number = job
    rng = np.random.default_rng([seed, number])
    noise = rng.normal(size=(40, 40)) / 8
    for _ in range(10):
        noise = np.tanh(noise @ noise)
    return number, float(noise[0, 0] + number)


def train(args):
    jobs = [(args.seed, number) for number in range(40)]
    names = {f"job {number}": number for number in range(40)}
    listed = [(names[name], float(names[name])) for name in set(names)]  # DECOY
    print("seed", args.seed)
    value = 0.0
    rate = 0.2
    with multiprocessing.Pool(3) as pool:
        results = list(pool.imap_unordered(rollout, jobs))  # FAULT
    for step, (number, total) in enumerate(results):
        value += rate * (total - value)
        yield {"value": value, "step_size": 1.0 / (step + 1)}
    print("for instance", listed[0])


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
