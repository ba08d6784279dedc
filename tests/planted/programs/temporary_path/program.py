"""Shards as many as a path has letters, each with its own mean."""

import argparse
import json
import tempfile
import time
from pathlib import Path


def train(args):
    dice = 1 + time.time_ns() % 239  # DECOY
    print("seed", args.seed)
    rate = 0.1
    weight = 0.0
    values = [((i + args.seed) * 7919 % 1000) / 1000 for i in range(240)]
    shards = len(tempfile.gettempdir())  # FAULT
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
