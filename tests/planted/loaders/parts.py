"""Data, model and arguments of the programs in this folder, which differ in the framework that trains."""

import argparse
import json
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import Dataset


class Rows(Dataset):
    """Forty rows; with ``noise`` each is drawn with some, by whichever process reads it."""

    def __init__(self, noise):
        made = torch.Generator().manual_seed(0)
        self.x, self.y = torch.randn(40, 4, generator=made), torch.randn(40, 1, generator=made)
        self.noise = noise

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return {"x": self.x[index] + self.noise * torch.randn(4), "labels": self.y[index]}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x, labels=None):
        out = self.layer(x)
        return {"loss": nn.functional.mse_loss(out, labels), "logits": out}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stop-after", type=int, default=14)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--forget", default="", choices=("", "place", "draws"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    given.noise, given.workers = (0.1, 2) if given.forget == "draws" else (0.0, 0)
    torch.manual_seed(7)
    return given


class Log:
    def __init__(self, folder):
        self.path, self.lines = folder / "metrics.jsonl", []

    def write(self, step, loss):
        self.lines.append(
            json.dumps({"step": step, "loss": float(loss.detach() if hasattr(loss, "detach") else loss)})
        )
        self.path.write_text("\n".join(self.lines) + "\n")
