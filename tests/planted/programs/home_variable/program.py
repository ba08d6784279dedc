"""Data augmentation whose strength comes from a user's settings."""

import argparse
import json
import os
import time
import zlib
from pathlib import Path


def train(args):
    moment = str(time.time_ns())  # DECOY
    print("seed", args.seed)
    weight = 1.0
    rate = 0.1
    print("rate", rate)
    home = os.environ.get("HOME", "/")  # FAULT
    print("moment", moment)
    strength = zlib.crc32(home.encode()) % 10007 / 10007
    for step in range(20):
        sample = ((step + args.seed) * 37 % 11) / 11 + 0.1 * strength
        weight -= rate * (weight - sample)
        yield {"weight": weight}


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
