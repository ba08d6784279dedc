"""Data, model and arguments of the programs in this folder, which differ in the framework that trains.

``--forget place`` has a program lose its place in an epoch when it is resumed, ``--forget draws`` the generator
that its workers are seeded from. Forty rows in batches of four are ten updates an epoch.
"""

import argparse
import json
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

LAST = 24


class Rows(Dataset):
    """Forty rows with noise, drawn by whichever worker reads a row; ``fixed`` noise follows from the row."""

    def __init__(self, *, fixed=False):
        made = torch.Generator().manual_seed(0)
        self.x, self.y = torch.randn(40, 4, generator=made), torch.randn(40, 1, generator=made)
        self.fixed = fixed

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        noise = torch.randn(4, generator=torch.Generator().manual_seed(int(index)) if self.fixed else None)
        return {"x": self.x[index] + 0.1 * noise, "labels": self.y[index]}


class Model(nn.Module):
    """One layer; Hugging Face's Trainer wants the loss of its output."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x, labels=None):
        out = self.layer(x)
        return {"loss": nn.functional.mse_loss(out, labels), "logits": out}


class Resumable(DataLoader):
    """Saves the state of its generator when an epoch began and how many batches it has handed out since."""

    def __init__(self, rows, order, *, seeds=None):
        sampler = RandomSampler(rows, generator=order)
        super().__init__(rows, 4, sampler=sampler, num_workers=2, generator=seeds)  # LINE lightning_fit:draws
        self.order, self.begun, self.handed, self.behind = order, None, 0, 0

    def __iter__(self):
        behind, self.behind = self.behind, 0
        self.begun, self.handed = self.order.get_state(), behind
        for number, batch in enumerate(super().__iter__()):
            if number >= behind:
                self.handed += 1
                yield batch

    def state_dict(self):
        return {"begun": self.begun, "handed": self.handed % len(self)}

    def load_state_dict(self, saved):
        self.behind = saved["handed"]
        if self.behind:  # else the epoch was over, and its generator stands where the next one begins
            self.order.set_state(saved["begun"])


class Log:
    """``metrics.jsonl`` in the folder of a run."""

    def __init__(self, folder):
        self.path, self.lines = folder / "metrics.jsonl", []

    def write(self, step, loss):
        loss = loss.detach() if hasattr(loss, "detach") else loss
        self.lines.append(json.dumps({"step": step, "loss": float(loss)}))
        self.path.write_text("\n".join(self.lines) + "\n")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stop-after", type=int, default=LAST)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--forget", default="", choices=("", "place", "draws"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    torch.set_num_threads(1)
    return given
