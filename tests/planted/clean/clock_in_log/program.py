"""Gradient descent that says how long it took."""

import argparse
import json
import time
from datetime import datetime
from pathlib import Path

import numpy as np


def train(args):
    begun = time.time()
    rng = np.random.default_rng(args.seed)
    matrix = rng.normal(size=(20, 20)) / 5
    target = rng.normal(size=20)
    weights = np.zeros(20)
    for step in range(30):
        weights -= 0.05 * matrix.T @ (matrix @ weights - target)
        if step % 10 == 0:
            print(f"{datetime.now().isoformat()} step {step} after {time.time() - begun:.3f} s")
        yield {"loss": float(np.mean((matrix @ weights - target) ** 2))}


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
