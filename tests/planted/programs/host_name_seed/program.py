"""Each machine of a cluster draws its own part of the data."""

import argparse
import json
import secrets
import socket
import zlib
from pathlib import Path


def train(args):
    night = secrets.token_hex(4)  # DECOY
    print("seed", args.seed)
    rate = 0.1
    weight = 0.0
    print("rate", rate)
    host = socket.gethostname()  # FAULT
    print("night", night)
    part = zlib.crc32(host.encode()) % 1009
    print("seed", args.seed, "part chosen")
    for step in range(20):
        sample = (part * (step + 1) * 2654435761 + args.seed) % 1000 / 1000
        weight += rate * (sample - weight)
        yield {"weight": weight, "sample": sample}


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
