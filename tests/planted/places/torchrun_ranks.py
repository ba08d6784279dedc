"""Two ranks under torchrun with DistributedDataParallel; rank 0 saves every third update, as its tutorial does."""

import argparse
import json
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume", type=Path)
given = parser.parse_args()
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(3)
torch.set_num_threads(1)
rows = TensorDataset(torch.randn(96, 4), torch.randn(96, 1))
order = DistributedSampler(rows, shuffle=True, seed=3)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1))
model = DistributedDataParallel(model)
adam = torch.optim.Adam(model.parameters(), lr=0.05)
step = 0
if given.resume:
    saved = torch.load(given.resume, map_location="cpu")
    model.module.load_state_dict(saved["model"])
    adam.load_state_dict(saved["optimizer"])
    step = saved["step"]
log = open(given.folder / "log.jsonl", "w", buffering=1) if rank == 0 else None
for epoch in range(step // 6, 2):
    order.set_epoch(epoch)
    for number, (x, y) in enumerate(DataLoader(rows, 8, sampler=order)):
        if epoch * 6 + number < step:
            continue
        loss = torch.nn.functional.mse_loss(model(x), y)
        adam.zero_grad()
        loss.backward()
        adam.step()
        step += 1
        if log is None:
            continue
        log.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")
        if step % 3 == 0:
            states = {"model": model.module.state_dict(), "optimizer": adam.state_dict(), "step": step}
            torch.save(states, given.folder / "written")
            (given.folder / "written").rename(given.folder / f"checkpoint_{step}.pt")
dist.destroy_process_group()
