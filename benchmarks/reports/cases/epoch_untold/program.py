"""Training on the shard of one rank, with the sampler of distributed training."""
import json
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main(out):
    torch.manual_seed(0)
    rows = torch.randn(64, 5)
    data = TensorDataset(rows, rows.sum(1, keepdim=True))
    sampler = DistributedSampler(data, num_replicas=2, rank=0, shuffle=True, seed=0)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    model = torch.nn.Linear(5, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    step = 0
    with open(out + "/metrics.jsonl", "w") as log:
        for epoch in range(4):
            for inputs, targets in loader:
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                log.write(json.dumps({"step": step, "epoch": epoch, "loss": loss.item()}) + "\n")
                step += 1


if __name__ == "__main__":
    main(sys.argv[1])
