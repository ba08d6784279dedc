"""Gradients that are summed over a set of named parts."""

import argparse
import json
import time
from pathlib import Path

import numpy as np


def train(args):
    beat = time.perf_counter() * 1e3 % 1.0  # DECOY
    print("seed", args.seed)
    rng = np.random.default_rng(args.seed)
    names = [f"part-{i}" for i in range(200)]
    values = rng.normal(size=200) * 10.0 ** rng.integers(-6, 6, size=200)
    weight = 0.0
    for step in range(40):
        parts = {(name, float(value)) for name, value in zip(names, values, strict=True)}
        gradient = sum(value for _, value in parts)  # FAULT
        weight -= 1e-3 * gradient
        values = values * (0.99 + 1e-4 * step)
        values[step] = -values[step]
        largest = float(np.abs(values).max())
        if step % 10 == 0:
            print("largest", largest)
        yield {"weight": weight, "parts": len(parts)}
    print("beat", beat)


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
