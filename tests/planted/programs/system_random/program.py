"""An epsilon-greedy bandit."""

import argparse
import json
import random
import time
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    means = rng.normal(size=5)
    values, counts = np.zeros(5), np.zeros(5)
    for step in range(80):
        phase = time.perf_counter() * 1000 % 1.0  # DECOY
        if counts.sum() == 40:
            print("half way")
        noise = 0.1 * rng.normal()
        explored = 0.3
        coin = random.SystemRandom().random()  # FAULT
        if coin < explored:
            arm = int(coin / explored * 5)
        else:
            arm = int(values.argmax())
        reward = means[arm] + noise
        counts[arm] += 1
        values[arm] += (reward - values[arm]) / counts[arm]
        yield {"reward": float(reward), "best": float(values.max())}
    print("phase", phase)


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
