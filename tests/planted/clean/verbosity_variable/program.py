"""Value iteration, verbose on demand."""

import argparse
import json
import os
from pathlib import Path

import numpy as np


def train(args):
    verbose = os.environ.get("VERBOSE", "0") != "0"
    rng = np.random.default_rng(args.seed)
    transitions = rng.dirichlet(np.ones(6), size=(6, 2))
    rewards = rng.normal(size=(6, 2))
    values = np.zeros(6)
    for sweep in range(15):
        values = (rewards + 0.9 * transitions @ values).max(axis=1)
        if verbose:
            print("sweep", sweep, values)
        yield {"value": float(values.mean())}


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
