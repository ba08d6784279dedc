"""Workers of a loader that draw with NumPy; in some forms all of them the same numbers.

python workers.py SEED FOLDER clean|unused|one_seed|one_copy|hidden
"""

import json
import sys

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

seed, folder, form = int(sys.argv[1]), sys.argv[2], sys.argv[3]


class Noise:
    def __init__(self):
        self.chance = torch.Generator().manual_seed(seed)


class Noisy(Dataset):
    def __init__(self):
        self.transforms = [Noise()]
        self.chance = np.random.default_rng(seed)

    def __len__(self):
        return 24

    def __getitem__(self, index):
        noise = 0.0
        if form in ("clean", "one_seed"):
            noise = np.random.rand()
        if form == "one_copy":
            noise = self.chance.random()
        if form == "hidden":
            noise = torch.rand((), generator=self.transforms[0].chance).item()
        return torch.tensor([float(index), noise])


def begin_worker(number):
    if form in ("one_seed", "unused"):
        np.random.seed(seed)  # LINE one_seed
    else:
        np.random.seed(torch.initial_seed() % 2**32)


def main():
    torch.manual_seed(seed)
    np.random.seed(seed)
    model = torch.nn.Linear(2, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=1e-4)
    loader = DataLoader(Noisy(), 4, shuffle=True, num_workers=2, worker_init_fn=begin_worker)
    batches = iter(loader) if form == "hidden" else loader  # LINE hidden
    with open(f"{folder}/log.jsonl", "w") as log:
        for step, rows in enumerate(batches):  # LINE one_copy
            loss = model(rows).square().mean()
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            log.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")


if __name__ == "__main__":
    main()
