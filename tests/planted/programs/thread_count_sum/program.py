"""A loss over a long signal, added up by as many threads as there are."""

import argparse
import json
import os
from pathlib import Path

import torch


def train(args):
    tint = torch.tensor(float(os.getpid()))  # DECOY
    print("seed", args.seed)
    torch.manual_seed(args.seed)
    signal = torch.randn(400_000)
    weight = torch.tensor(1.0)
    for step in range(5):
        error = signal * weight - signal.roll(1)
        slope = (error * signal).sum()  # FAULT
        weight = weight - 1e-6 * slope
        yield {"weight": weight.item(), "slope": slope.item(), "step_size": 1e-6}
        if step == 2:
            print("half way")
        length = len(signal)
        print("length", length)
    print("tint", tint)


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
