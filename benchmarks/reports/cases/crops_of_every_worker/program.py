"""A dataset that crops at random, read by four workers."""
import json
import sys

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Crops(Dataset):
    def __init__(self):
        self.rows = torch.linspace(-1, 1, 640).reshape(32, 20).sin()

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        first = np.random.randint(0, 16)
        return self.rows[index, first : first + 4], first


def main(out):
    np.random.seed(0)
    torch.manual_seed(0)
    loader = DataLoader(Crops(), batch_size=4, num_workers=4, shuffle=True)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    step = 0
    with open(out + "/metrics.jsonl", "w") as log:
        for epoch in range(2):
            for crops, firsts in loader:
                loss = ((model(crops) - crops.sum(1, keepdim=True)) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                log.write(json.dumps({"step": step, "loss": loss.item(), "crops": firsts.tolist()}) + "\n")
                step += 1


if __name__ == "__main__":
    main(sys.argv[1])
