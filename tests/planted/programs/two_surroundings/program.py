"""Shards as many as the zone's name and the cores make, each with its own mean."""

import argparse
import json
import os
import random
from pathlib import Path


def train(args):
    dice = random.randrange(1, 240)  # DECOY
    print("seed", args.seed)
    rate = 0.1
    weight = 0.0
    values = [((i + args.seed) * 7919 % 1000) / 1000 for i in range(240)]
    letters = len(os.environ.get("TZ", ""))  # ALSO
    shards = 1 + letters * len(os.environ.get("NOISE", ""))  # FAULT
    print("dice", dice)
    for step in range(10):
        for shard in range(shards):
            part = values[shard::shards]
            weight += rate * (part[step % len(part)] - weight)
        yield {"weight": weight, "step_size": rate}


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
