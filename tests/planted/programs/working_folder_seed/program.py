"""A sketch whose stream hangs on where it is started."""

import argparse
import json
import os
import zlib
from pathlib import Path

import numpy as np


def train(args):
    colour = os.urandom(3).hex()  # DECOY
    print("seed", args.seed)
    data = np.linspace(0, 1, 50)
    sizes = (2, 4, 8, 16)
    print("sketches", len(data))
    place = os.getcwd()  # FAULT
    print("colour", colour)
    rng = np.random.default_rng([args.seed, zlib.crc32(place.encode())])
    for size in sizes:
        projection = rng.choice([-1.0, 1.0], size=(50, size))
        yield {"size": size, "energy": float(((data @ projection) ** 2).mean())}


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
