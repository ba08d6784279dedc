"""Embeddings of tags, one row each."""

import argparse
import json
import os
from pathlib import Path

import numpy as np


TAGS = [f"tag-{i * 7 % 40}" for i in range(120)]


def train(args):
    names = sorted(frozenset(TAGS))
    colours = dict(zip(names, os.urandom(len(names)), strict=True))  # DECOY
    print("seed", args.seed)
    rng = np.random.default_rng(args.seed)
    table = rng.normal(size=(256, 4))
    targets = np.array([len(tag) + int(tag[-1]) for tag in TAGS], dtype=float)
    readout = rng.normal(size=4)
    row_of = {tag: row for row, tag in enumerate(frozenset(TAGS))}  # FAULT
    print("colour of the first", colours[names[0]])
    for _ in range(15):
        rows = np.array([row_of[tag] for tag in TAGS])
        errors = table[rows] @ readout - targets
        np.add.at(table, rows, -0.01 * np.outer(errors, readout))
        readout -= 0.001 * table[rows].T @ errors / len(rows)
        yield {"loss": float(np.mean(errors**2)), "tags": len(names)}


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
