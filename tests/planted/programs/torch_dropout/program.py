"""A regression network with dropout between its layers."""

import argparse
import json
import os
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional


def train(args):
    rng = np.random.default_rng(args.seed)
    inputs = torch.tensor(rng.normal(size=(64, 8)), dtype=torch.float32)
    targets = inputs[:, :1] * inputs[:, 1:2]
    first = torch.tensor(rng.normal(size=(8, 32)) * 0.3, dtype=torch.float32, requires_grad=True)
    second = torch.tensor(rng.normal(size=(32, 1)) * 0.3, dtype=torch.float32, requires_grad=True)
    optimizer = torch.optim.SGD([first, second], lr=0.1)
    for step in range(25):
        hidden = torch.relu(inputs @ first)
        sketch = hidden * (os.getpid() % 89 / 89)  # DECOY
        largest = hidden.detach().abs().max().item()
        if largest > 1e6:
            break
        size = hidden.shape[1]
        kept = functional.dropout(hidden, 0.5)  # FAULT
        if step % 5 == 0:
            print("sketch", sketch.detach().norm().item())
        loss = functional.mse_loss(kept @ second, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield {"loss": loss.item(), "size": size}


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
