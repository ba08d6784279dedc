"""Linear regression in PyTorch with its own shuffling generator."""

import argparse
import json
import os
from pathlib import Path

import torch


def train(args):
    token = os.getpid() * 7919  # DECOY
    print("seed", args.seed)
    torch.manual_seed(args.seed)
    inputs = torch.randn(80, 5)
    targets = inputs.sum(dim=1) + 0.1 * torch.randn(80)
    model = torch.nn.Linear(5, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    shuffling = torch.Generator()
    entropy = torch.Generator().seed()  # FAULT
    print("token", token)
    shuffling.manual_seed(entropy)
    print("data", tuple(inputs.shape), "model", sum(p.numel() for p in model.parameters()))
    for epoch in range(8):
        for batch in torch.randperm(80, generator=shuffling).split(16):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs[batch]).squeeze(1), targets[batch])
            loss.backward()
            optimizer.step()
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
