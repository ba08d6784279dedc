"""Class weights from counts in a tensor."""

import argparse
import json
import os
from pathlib import Path

import torch


def train(args):
    marks = torch.full((300,), os.getpid() * 1009 + os.getpid() % 97)  # DECOY
    print("seed", args.seed)
    torch.manual_seed(args.seed)
    inputs = torch.randn(200, 6)
    labels = (inputs[:, 0] * 2).long().clamp(-3, 3) + 3
    model = torch.nn.Linear(6, 300)
    for step in range(10):
        waste = [torch.randint(0, 9, (300,)) for _ in range(50)]
        del waste
        counts = torch.empty(300, dtype=torch.int64)  # FAULT
        counts.index_add_(0, labels, torch.ones_like(labels))
        weights = 1.0 / (1.0 + (counts % 1009).abs().float())
        loss = torch.nn.functional.cross_entropy(model(inputs), labels, weight=weights)
        parts = list(model.parameters())
        with torch.no_grad():
            for part, slope in zip(parts, torch.autograd.grad(loss, parts), strict=True):
                part -= 0.1 * slope
        yield {"loss": loss.item(), "rare": float(weights[:4].sum())}
    print("marks", marks)


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
