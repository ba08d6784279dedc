"""An ensemble of stumps, each on its own bootstrap sample."""

import argparse
import json
import os
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=80)
    labels = (inputs + 0.5 * rng.normal(size=80) > 0.2).astype(float)
    owner = os.getpid()  # DECOY
    print("seed", args.seed)
    votes = np.zeros(80)
    thresholds = np.linspace(-2, 2, 41)
    print("thresholds", len(thresholds))
    print("samples", len(inputs))
    root = np.random.SeedSequence().entropy  # FAULT
    print("job", owner)
    children = np.random.SeedSequence(root).spawn(8)
    for number, child in enumerate(children, start=1):
        sample = np.random.default_rng(child).integers(0, 80, size=80)
        errors = [np.mean((inputs[sample] > t) != labels[sample]) for t in thresholds]
        best = thresholds[int(np.argmin(errors))]
        votes += inputs > best
        yield {"threshold": float(best), "error": float(min(errors)), "vote": float(votes.mean() / number)}


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
