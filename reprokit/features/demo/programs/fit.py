"""Fits a line to points by stochastic gradient descent."""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path


def fit(seed: int, log: Path) -> None:
    """Go through the points twenty times, each time in another order."""
    points = [(x / 50, 3.0 * x / 50 - 1.0) for x in range(50)]
    first = random.Random(seed)
    slope, offset = first.uniform(-1, 1), first.uniform(-1, 1)
    with log.open("w") as stream:
        for step in range(1, 21):
            random.shuffle(points)
            loss = 0.0
            for x, y in points:
                error = slope * x + offset - y
                slope, offset = slope - 0.05 * error * x, offset - 0.05 * error
                loss += error * error / len(points)
            stream.write(json.dumps({"step": step, "loss": loss, "slope": slope}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logdir", type=Path, required=True)
    arguments = parser.parse_args()
    fit(arguments.seed, arguments.logdir / "metrics.jsonl")
