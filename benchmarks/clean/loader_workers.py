"""PyTorch: a shuffled loader with workers and a seeded augmentation."""

import json
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    """Numbers with noise from the worker's own generator."""

    def __len__(self):
        return 64

    def __getitem__(self, number):
        return torch.tensor([float(number)]) + torch.randn(1)


if __name__ == "__main__":
    torch.manual_seed(2)
    weight = torch.zeros(1, requires_grad=True)
    step = 0
    with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
        for batch in DataLoader(Noisy(), batch_size=16, shuffle=True, num_workers=2):
            loss = ((batch * weight - 1) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                weight -= 0.0001 * weight.grad
                weight.grad.zero_()
            out.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")
            step += 1
