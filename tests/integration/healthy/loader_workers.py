"""A training with a loader whose workers are processes."""

import json
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    inputs = torch.linspace(-1, 1, 64).reshape(32, 2)
    data = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    chance = torch.Generator().manual_seed(1)
    with open(f"{sys.argv[1]}/metrics.jsonl", "w") as out:
        for epoch in range(2):
            for given, wanted in DataLoader(
                data,
                batch_size=8,
                shuffle=True,
                num_workers=2,
                generator=chance,
                multiprocessing_context=None,
            ):
                loss = ((model(given) - wanted) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            out.write(json.dumps({"step": epoch, "loss": loss.item()}) + "\n")
