"""PyTorch: a shuffled loader with workers, seeded before it is made."""

import json
import random
import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def seeded(worker=0):
    torch.manual_seed(4)
    np.random.seed(4)
    random.seed(4)


if __name__ == "__main__":
    seeded()
    images, labels = load_digits(return_X_y=True)
    data = TensorDataset(torch.tensor(images / 16.0, dtype=torch.float32), torch.tensor(labels))
    loader = DataLoader(data, batch_size=128, shuffle=True, num_workers=2, worker_init_fn=seeded)
    weights = torch.zeros(64, 10, requires_grad=True)
    with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
        for step, (batch, target) in enumerate(loader):
            loss = torch.nn.functional.cross_entropy(batch @ weights, target)
            loss.backward()
            with torch.no_grad():
                weights -= 0.5 * weights.grad
                weights.grad.zero_()
            out.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")
