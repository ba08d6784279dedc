"""Momentum SGD on buffers that are allocated once."""

import argparse
import json
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=(50, 160))
    targets = inputs[:, 0] - inputs[:, 1]
    velocity = np.empty(160)
    velocity.fill(0.0)
    gradient = np.empty(160)
    weights = np.zeros(160)
    for _ in range(20):
        np.matmul(inputs.T, inputs @ weights - targets, out=gradient)
        velocity *= 0.9
        velocity += gradient / 50
        weights -= 0.01 * velocity
        yield {"loss": float(np.mean((inputs @ weights - targets) ** 2))}


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
