"""A bandit behind an imagined dashboard."""

import argparse
import json
import secrets
from pathlib import Path

import numpy as np


def train(args):
    token = secrets.token_urlsafe(16)
    (args.logdir / "dashboard.txt").write_text(f"token={token}\n")
    rng = np.random.default_rng(args.seed)
    means, values, counts = rng.normal(size=5), np.zeros(5), np.zeros(5)
    for _ in range(60):
        arm = int(rng.integers(5)) if rng.random() < 0.2 else int(values.argmax())
        counts[arm] += 1
        values[arm] += (means[arm] + 0.1 * rng.normal() - values[arm]) / counts[arm]
        yield {"best": float(values.max()), "length": len(token)}


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
