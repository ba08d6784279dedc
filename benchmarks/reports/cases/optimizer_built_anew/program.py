"""A training loop that takes the optimizer it is given, and can be resumed."""
import argparse
import json
from pathlib import Path

import torch


def training_loop(model, optimizer, *, first, last, log):
    optimizer = type(optimizer)(model.parameters(), **optimizer.defaults)
    for step in range(first, last):
        inputs = torch.randn(16, 4, generator=torch.Generator().manual_seed(step))
        loss = ((model(inputs) - inputs.prod(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")


def main(asked):
    torch.manual_seed(2)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    first = 0
    if asked.stopped:
        saved = torch.load(asked.stopped / "checkpoint.pt")
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"]
    with open(asked.out / "metrics.jsonl", "w") as log:
        training_loop(model, optimizer, first=first, last=asked.stop, log=log)
    saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": asked.stop}
    torch.save(saved, asked.out / "checkpoint.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=12)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
