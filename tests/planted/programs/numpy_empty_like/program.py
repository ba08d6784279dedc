"""Visit counts of a random walk on a ring."""

import argparse
import json
import os
from pathlib import Path

import numpy as np


def train(args):
    stickers = np.full(200, os.getpid())  # DECOY
    print("seed", args.seed)
    rng = np.random.default_rng(args.seed)
    template = np.arange(200, dtype=np.int64)
    blocks = [rng.integers(0, 9, size=200) for _ in range(30)]
    kept = blocks[::2]
    del blocks
    print("kept", len(kept))
    visits = np.empty_like(template)  # FAULT
    print("stickers", stickers)
    position = 0
    for episode in range(6):
        for _ in range(100):
            position = int((position + rng.choice([-1, 1])) % 200)
            visits[position] += 1
        bonus = 1.0 / np.sqrt(1.0 + np.abs(visits[:16] % 100003))
        yield {"bonus": float(bonus.sum()), "position": position, "episode": episode}


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
