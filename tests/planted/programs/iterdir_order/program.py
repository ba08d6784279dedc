"""Adds up the tables that lie beside the program, as the folder gives them."""

import argparse
import json
import random
from pathlib import Path


def train(args):
    tables = Path(__file__).parent / "tables"
    known = [
        tables / f"{name}.txt" for name in "alder birch cedar ebony elm fir hazel larch maple oak".split()
    ]
    picked = sorted(known, key=lambda path: random.random())  # DECOY
    print("seed", args.seed)
    weight = 0.01 * args.seed
    step_size = 0.3
    print("starts with", weight)
    found = [path for path in tables.iterdir() if path.suffix == ".txt"]  # FAULT
    print("for the next issue:", picked[0].name)
    for path in found:
        values = [float(v) for v in path.read_text().split()]
        for value in values:
            weight += step_size * (value - weight)
        step_size *= 0.95
        yield {"weight": weight, "values": len(values)}


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
