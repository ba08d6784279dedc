"""Random Fourier features and ridge regression."""

import argparse
import json
import secrets
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    inputs = rng.uniform(-2, 2, size=(100, 2))
    targets = np.sin(inputs[:, 0]) * np.cos(inputs[:, 1])
    channel = hash("nightly") % 2**30  # DECOY
    print("seed", args.seed)
    for width in (4, 8, 16, 32, 64):
        scale = 1.0 / np.sqrt(width)
        ridge = 1e-3 * np.eye(width)
        salt = secrets.randbelow(2**30)  # FAULT
        features_rng = np.random.default_rng(salt)
        directions = features_rng.normal(size=(2, width))
        phases = features_rng.uniform(0, 2 * np.pi, size=width)
        features = scale * np.cos(inputs @ directions + phases)
        solution = np.linalg.solve(features.T @ features + ridge, features.T @ targets)
        print("width", width, "salt of", channel)
        yield {"width": width, "error": float(np.mean((features @ solution - targets) ** 2))}
    print("channel", channel)


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
