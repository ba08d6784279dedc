"""A small network fed by a shuffling DataLoader."""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


def train(args):
    rng = np.random.default_rng(args.seed)
    inputs = torch.tensor(rng.normal(size=(64, 6)), dtype=torch.float32)
    dataset = TensorDataset(inputs, inputs.prod(dim=1, keepdim=True))
    names = [f"row{i:02d}" for i in range(64)]
    preview = [dataset[sorted(range(64), key=lambda i: hash(names[i]))[n::8]] for n in range(8)]  # DECOY
    print("seed", args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    weights = (torch.randn(6, 1, generator=generator) * 0.1).requires_grad_(True)
    for _ in range(5):
        batches = list(DataLoader(dataset, batch_size=8, shuffle=True))  # FAULT
        total = 0.0
        for rows, targets in batches:
            loss = ((torch.tanh(rows @ weights) - targets) ** 2).mean()
            parts = [weights]
            with torch.no_grad():
                for part, slope in zip(parts, torch.autograd.grad(loss, parts), strict=True):
                    part -= 0.05 * slope
            total += loss.item()
        yield {"loss": total / 8, "norm": weights.norm().item()}
    print("preview", preview[0][0][0, 0].item())


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
