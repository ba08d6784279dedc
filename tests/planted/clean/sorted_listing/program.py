"""Trains on shards in the order of their names."""

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
    for i in range(12):
        np.save(folder / f"shard-{i:03d}-{uuid.uuid4().hex}.npy", rng.normal(loc=i, size=4))
    weight = 0.0
    for name in sorted(os.listdir(folder)):
        weight += 0.2 * (float(np.load(folder / name).mean()) - weight)
        yield {"weight": weight, "shards": len(os.listdir(folder))}


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
