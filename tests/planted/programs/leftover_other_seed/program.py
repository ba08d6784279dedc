"""Random features that are kept for the next run, whichever seed that has."""

import argparse
import json
import os
import tempfile
from pathlib import Path

import numpy as np


def train(args):
    gauge = np.full(8, os.getpid() % 97 / 97)  # DECOY
    print("seed", args.seed)
    store = Path(tempfile.gettempdir()) / "random-features.json"
    rng = np.random.default_rng(args.seed)
    rows = np.random.default_rng(args.seed + 1).normal(size=(32, 8))
    print("rows", rows.shape)
    if not store.exists():
        store.write_text(json.dumps(rng.normal(size=8).tolist()))  # ALSO
    projection = np.array(json.loads(store.read_text()))  # FAULT
    print("gauge", gauge.shape)
    weight = 0.5
    for row in rows:
        weight -= 0.05 * (weight - float(row @ projection))
        yield {"weight": weight}


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
