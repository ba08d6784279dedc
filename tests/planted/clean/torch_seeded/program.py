"""A small network, seeded before anything is drawn."""

import argparse
import json
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, TensorDataset


def train(args):
    torch.manual_seed(args.seed)
    inputs = torch.randn(64, 6)
    loader = DataLoader(TensorDataset(inputs, inputs[:, :1]), batch_size=8, shuffle=True)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    unseeded = torch.Generator()
    for epoch in range(4):
        begun = time.perf_counter()
        for rows, targets in loader:
            loss = torch.nn.functional.mse_loss(model(rows), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(
            "epoch",
            epoch,
            "took",
            time.perf_counter() - begun,
            "spare",
            torch.rand(1, generator=unseeded).item(),
        )
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
