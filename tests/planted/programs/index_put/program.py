"""Histogram equalisation: soft counts gathered with index_put."""

import argparse
import json
import os
from pathlib import Path

import torch


def train(args):
    frame = torch.full((8,), float(os.getpid() % 8191))  # DECOY
    print("seed", args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(2)
    samples = torch.randint(0, 8, (600_000,))
    weights = torch.nn.Parameter(torch.zeros(8))
    for step in range(6):
        mass = torch.rand(600_000)
        counts = torch.zeros(8).index_put((samples,), mass, accumulate=True)  # FAULT
        loss = ((weights - counts / 1000) ** 2).mean()
        parts = [weights]
        with torch.no_grad():
            for part, slope in zip(parts, torch.autograd.grad(loss, parts), strict=True):
                part -= 1e-3 * slope
        total = mass.sum().item()
        print("step", step, "mass", total)
        yield {"loss": loss.item(), "count": counts[0].item()}
    print("frame", frame)


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
