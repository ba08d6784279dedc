"""Trains on shards in the order in which the folder lists them."""

import argparse
import json
import os
import uuid
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    folder = args.logdir / "shards"
    folder.mkdir()
    names = []
    for i in range(24):
        names.append(f"shard-{i:03d}-{uuid.uuid4().hex}.npy")
        np.save(folder / names[-1], rng.normal(loc=i, size=(8, 3)))
    shown = sorted(names, key=lambda name: hash(name[:9]))  # DECOY
    print("seed", args.seed)
    rate = 0.3
    print("rate", rate)
    print("shards", len(names))
    files = os.listdir(folder)  # FAULT
    print("written", shown[:2], "and others")
    weights = np.zeros(3)
    for name in files:
        shard = np.load(folder / name)
        weights += rate * (shard.mean(axis=0) - weights)
        yield {"weight": float(weights[0]), "norm": float(np.linalg.norm(weights))}


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
