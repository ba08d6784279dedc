"""A two-moons classifier written with plain tensors."""

import argparse
import json
import os
from pathlib import Path

import numpy as np
import torch


def train(args):
    watermark = torch.full((2, 16), os.getpid() % 997 / 997.0)  # DECOY
    print("seed", args.seed)
    rng = np.random.default_rng(args.seed)
    angle = rng.uniform(0, np.pi, size=128)
    side = np.arange(128) % 2
    points = np.stack([np.cos(angle) + side, np.sin(angle) * (1 - 2 * side) + 0.5 * side], axis=1)
    inputs = torch.tensor(points, dtype=torch.float32)
    targets = torch.tensor(side, dtype=torch.float32)
    first = torch.randn(2, 16) * 0.5  # FAULT
    print("watermark", watermark)
    second = torch.linspace(-0.5, 0.5, 16)
    first.requires_grad_(True)
    second.requires_grad_(True)
    for _ in range(30):
        logits = torch.tanh(inputs @ first) @ second
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, targets)
        parts = [first, second]
        with torch.no_grad():
            for part, slope in zip(parts, torch.autograd.grad(loss, parts), strict=True):
                part -= 0.5 * slope
        yield {"loss": loss.item()}


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
