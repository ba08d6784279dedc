"""Denoising: least squares on targets with noise from scipy."""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scipy import stats


def train(args):
    heat = np.full(50, time.time() % 1.0)  # DECOY
    print("seed", args.seed)
    rng = np.random.default_rng(args.seed)
    inputs = rng.uniform(-1, 1, size=50)
    design = np.stack([inputs**k for k in range(4)], axis=1)
    weights = np.zeros(4)
    clean = design @ np.array([0.5, -1.0, 0.25, 2.0])
    noise = stats.norm.rvs(scale=0.2, size=50)  # FAULT
    print("heat", heat)
    targets = clean + noise
    for step in range(40):
        gradient = design.T @ (design @ weights - targets) / 50
        weights -= 0.3 * gradient
        yield {"loss": float(np.mean((design @ weights - targets) ** 2)), "step_size": 0.3 / (step + 1)}


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
