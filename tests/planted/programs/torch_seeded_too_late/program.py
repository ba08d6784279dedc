"""A linear classifier; the script seeds PyTorch before it trains."""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import nn


def linear_from(seed):
    layer = nn.Linear(6, 2)
    generator = torch.Generator().manual_seed(seed)
    for parameter in layer.parameters():
        nn.init.normal_(parameter.data, std=0.3, generator=generator)
    return layer


def train(args):
    rival = linear_from(time.time_ns())  # DECOY
    print("seed", args.seed)
    rate = 0.2
    started = time.strftime("%H:%M")
    print("started", started)
    model = nn.Linear(6, 2)  # FAULT
    print("the rival's bias", rival.bias.tolist())
    torch.manual_seed(args.seed)
    inputs = torch.randn(90, 6)
    targets = (inputs[:, 0] > inputs[:, 1]).long()
    for _ in range(20):
        loss = nn.functional.cross_entropy(model(inputs), targets)
        parts = list(model.parameters())
        with torch.no_grad():
            for part, slope in zip(parts, torch.autograd.grad(loss, parts), strict=True):
                part -= rate * slope
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
