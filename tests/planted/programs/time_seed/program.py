"""Naive hill climbing on Rastrigin's function."""

import argparse
import json
import secrets
import time
from pathlib import Path

import numpy as np


def rastrigin(point):
    return float(10 * len(point) + (point**2 - 10 * np.cos(2 * np.pi * point)).sum())


def train(args):
    ticket = secrets.randbits(20)  # DECOY
    print("seed", args.seed)
    spread = 0.3
    print("spread", spread)
    point = np.random.default_rng(args.seed).uniform(-3, 3, size=6)
    now = time.time()  # FAULT
    print("ticket", ticket)
    rng = np.random.default_rng(int(now * 1e6))
    best = rastrigin(point)
    print("start", best)
    for step in range(200):
        candidate = point + spread * rng.normal(size=6)
        cost = rastrigin(candidate)
        if cost < best:
            point, best = candidate, cost
        if step % 20 == 0:
            yield {"best": best}


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
