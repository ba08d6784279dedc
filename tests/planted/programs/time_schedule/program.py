"""A learning rate that decays with the time spent."""

import argparse
import json
import math
import os
import time
from pathlib import Path

import numpy as np


def train(args):
    badge = os.getpid() % 9973 / 1e5  # DECOY
    print("seed", args.seed)
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=(60, 3))
    targets = inputs @ rng.normal(size=3)
    weights = np.zeros(3)
    begun = time.monotonic()
    for step in range(50):
        elapsed = time.monotonic() - begun  # FAULT
        rate = 0.1 * math.exp(-5.0 * elapsed)
        gradient = inputs.T @ (inputs @ weights - targets) / 60
        weights -= rate * gradient
        loss = float(np.mean((inputs @ weights - targets) ** 2))
        if step % 10 == 0:
            print("step", step, "loss", round(loss, 3))
        yield {"loss": loss}
    print("badge", badge)


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
