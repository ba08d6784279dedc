"""Point clouds with random rotations, made by the workers of a loader."""
import json
import sys
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Clouds(Dataset):
    def __init__(self):
        self.points = np.random.default_rng(0).normal(size=(32, 10, 2)).astype(np.float32)

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        angle = np.random.uniform(0, 2 * np.pi)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], np.float32)
        return self.points[index] @ turn, np.float32(self.points[index, 0, 0])


def seed_worker(worker):
    np.random.seed(worker + int(time.time() * 1000) % 2**31)


def main(out):
    torch.manual_seed(0)
    np.random.seed(0)
    loader = DataLoader(Clouds(), batch_size=8, shuffle=True, num_workers=2, worker_init_fn=seed_worker)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(20, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with open(out + "/metrics.jsonl", "w") as log:
        for step, (clouds, targets) in enumerate(loader):
            loss = torch.nn.functional.mse_loss(model(clouds).squeeze(1), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
