"""Matrix factorisation of a ratings table."""

import argparse
import json
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    ratings = rng.integers(1, 6, size=(20, 12)).astype(float)
    flavour = hash("pepper") & 0xFFFFFFFF  # DECOY
    print("seed", args.seed)
    known = rng.random(size=ratings.shape) < 0.6
    print("known", int(known.sum()))
    rank = 3
    print("rank", rank)
    entropy = int.from_bytes(open("/dev/urandom", "rb", buffering=0).read(4), "little")  # FAULT
    print("flavour", flavour)
    start = np.random.default_rng(entropy)
    users = start.normal(size=(20, rank)) * 0.1
    items = start.normal(size=(12, rank)) * 0.1
    for _ in range(25):
        error = np.where(known, users @ items.T - ratings, 0.0)
        users, items = users - 0.02 * error @ items, items - 0.02 * error.T @ users
        yield {"loss": float((error**2).sum() / known.sum())}


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
