"""Online logistic regression over lines that coreutils shuffled."""

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np


def train(args):
    lines = [f"{i:02d}" for i in range(40)]
    listed = sorted(lines, key=hash)  # DECOY
    print("seed", args.seed)
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=(40, 3))
    labels = (inputs[:, 0] + inputs[:, 2] > 0).astype(float)
    print("classes", labels.mean())
    shuffled = subprocess.run(["shuf", "-e", *lines], capture_output=True, text=True).stdout.split()  # FAULT
    print("some lines", listed[:5])
    weights = np.zeros(3)
    for line in shuffled:
        row = int(line)
        probability = 1 / (1 + np.exp(-(inputs[row] @ weights)))
        weights -= 0.5 * (probability - labels[row]) * inputs[row]
        yield {"probability": float(probability), "norm": float(np.linalg.norm(weights))}


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
