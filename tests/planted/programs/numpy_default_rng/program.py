"""A two-layer perceptron in numpy that learns exclusive or."""

import argparse
import json
import os
from pathlib import Path

import numpy as np


def train(args):
    spare = np.random.default_rng(os.getpid())  # DECOY
    print("seed", args.seed)
    inputs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    targets = np.array([[0], [1], [1], [0]], dtype=float)
    print("seed", args.seed)
    rng = np.random.default_rng()  # FAULT
    print("a number to spare", spare.integers(5))
    hidden_weights = rng.normal(size=(2, 8))
    hidden_bias = np.zeros(8)
    output_weights = rng.normal(size=(8, 1))
    output_bias = np.zeros(1)
    for step in range(100):
        hidden = np.tanh(inputs @ hidden_weights + hidden_bias)
        output = 1 / (1 + np.exp(-(hidden @ output_weights + output_bias)))
        delta = output - targets
        back = (delta @ output_weights.T) * (1 - hidden**2)
        output_weights -= 0.5 * hidden.T @ delta
        output_bias -= 0.5 * delta.sum(axis=0)
        hidden_weights -= 0.5 * inputs.T @ back
        hidden_bias -= 0.5 * back.sum(axis=0)
        if step % 10 == 0:
            yield {"loss": float(np.mean(delta**2))}


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
