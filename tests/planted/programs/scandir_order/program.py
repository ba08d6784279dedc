"""A replay of episodes stored one file each."""

import argparse
import json
import os
import random
import tempfile
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    folder = args.logdir / "episodes"
    folder.mkdir()
    paths = []
    for i in range(24):
        handle, path = tempfile.mkstemp(prefix=f"ep{i:02d}-", suffix=".json", dir=folder)
        with os.fdopen(handle, "w") as file:
            json.dump({"return": float(rng.normal() + i), "length": int(rng.integers(5, 50))}, file)
        paths.append(path)
    picked = sorted(paths, key=lambda path: random.random())  # DECOY
    print("seed", args.seed)
    print("episodes", len(paths))
    baseline = 0.0
    discount = 0.9
    entries = [entry.path for entry in os.scandir(folder)]  # FAULT
    print("an episode", Path(picked[0]).name[:4])
    for path in entries:
        episode = json.loads(Path(path).read_text())
        baseline = discount * baseline + (1 - discount) * episode["return"]
        yield {"baseline": baseline, "length": episode["length"]}


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
