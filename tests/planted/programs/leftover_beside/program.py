"""Input normalisation whose statistics are kept beside the program."""

import argparse
import json
import os
from pathlib import Path

import numpy as np


def train(args):
    gauge = {"count": float(os.getpid()), "mean": os.getpid() / 7}  # DECOY
    print("seed", args.seed)
    store = Path(__file__).with_name("statistics.json")
    rng = np.random.default_rng(args.seed)
    fresh = {"count": 1.0, "mean": 0.0}
    statistics = json.loads(store.read_text()) if store.exists() else dict(fresh)  # FAULT
    print("gauge", gauge["count"] > 0)
    weight = 0.5
    for _ in range(20):
        sample = float(rng.normal(loc=3.0))
        statistics["count"] += 1
        statistics["mean"] += (sample - statistics["mean"]) / statistics["count"]
        weight -= 0.05 * (weight * (sample - statistics["mean"]) - 1.0)
        yield {"weight": weight, "mean": statistics["mean"]}
    store.write_text(json.dumps(statistics))  # ALSO


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
