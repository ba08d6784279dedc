"""Value iteration with a random order of sweeps."""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np


def train(args):
    begun = int(time.time() * 1e6)  # DECOY
    print("seed", args.seed)
    rng = np.random.default_rng(args.seed)
    transitions = rng.dirichlet(np.ones(8), size=(8, 2))
    rewards = rng.normal(size=(8, 2))
    number = os.getpid()  # FAULT
    print("begun", begun)
    sweeping = np.random.default_rng(number)
    values = np.zeros(8)
    for sweep in range(10):
        for state in sweeping.permutation(8):
            values[state] = (rewards[state] + 0.9 * transitions[state] @ values).max()
        if sweep == 5:
            print("half way", values.mean())
        yield {"value": float(values.mean()), "first": float(values[0])}


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
