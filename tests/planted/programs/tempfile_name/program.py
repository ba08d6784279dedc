"""Scratch-file training: the job's name decides the augmentation stream."""

import argparse
import json
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    signal = np.sin(np.linspace(0, 6, 64)) + 0.05 * rng.normal(size=64)
    label = f"job-{time.time_ns()}"  # DECOY
    print("seed", args.seed)
    window = 5
    weights = np.zeros(window)
    print("window", window)
    print("length", len(signal))
    name = Path(tempfile.mkdtemp()).name  # FAULT
    print("label", label)
    stream = np.random.default_rng(zlib.crc32(name.encode()))
    for _ in range(30):
        start = int(stream.integers(0, 64 - window - 1))
        piece, following = signal[start : start + window], signal[start + window]
        error = piece @ weights - following
        weights -= 0.1 * error * piece
        yield {"error": float(error), "norm": float(np.linalg.norm(weights))}


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
