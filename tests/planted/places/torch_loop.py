"""A loop of PyTorch's own that accumulates two batches and saves every third update, under another name first."""

import argparse
import json
from pathlib import Path

import torch

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume", type=Path)
parser.add_argument("--forget", default="")
given = parser.parse_args()
torch.manual_seed(3)
torch.set_num_threads(1)
x, y = torch.randn(40, 4), torch.randn(40, 1)
model = torch.nn.Sequential(
    torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1)
)
adam = torch.optim.Adam(model.parameters(), lr=0.05)
rates = torch.optim.lr_scheduler.StepLR(adam, 3)
parts = {"model": model, "optimizer": adam, "scheduler": rates}
step = 0
if given.resume:
    saved = torch.load(given.resume, weights_only=False)
    for name, one in parts.items():
        if name != given.forget:
            one.load_state_dict(saved[name])
    if given.forget != "generator":
        torch.set_rng_state(saved["generator"])
    step = 0 if given.forget == "counter" else saved["step"]
log = open(given.folder / "log.jsonl", "w", buffering=1)
while step < 12:
    adam.zero_grad()
    for _ in range(2):
        chosen = torch.randint(0, 40, (8,))
        loss = torch.nn.functional.mse_loss(model(x[chosen]), y[chosen])
        loss.backward()
    adam.step()
    rates.step()
    step += 1
    log.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")
    if step % 3 == 0:
        states = {name: one.state_dict() for name, one in parts.items()}
        states |= {"generator": torch.get_rng_state(), "step": step}
        torch.save(states, given.folder / "written")
        (given.folder / "written").rename(given.folder / f"checkpoint_{step}.pt")
