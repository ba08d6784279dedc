"""A loop with accelerate that accumulates two batches and saves every third update with `save_state`."""

import argparse
import json
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume", type=Path)
parser.add_argument("--forget", default="")
given = parser.parse_args()
set_seed(3)
torch.set_num_threads(1)
order = DataLoaderConfiguration(use_seedable_sampler=True)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2, dataloader_config=order)
rows = TensorDataset(torch.randn(48, 4), torch.randn(48, 1))
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))
adam = torch.optim.Adam(model.parameters(), lr=0.05)
rates = torch.optim.lr_scheduler.StepLR(adam, 3)
model, adam, loader, rates = accelerator.prepare(model, adam, DataLoader(rows, 8, shuffle=True), rates)


class Done:
    """How many batches were trained on."""

    batches = 0

    def state_dict(self):
        return {"batches": self.batches}

    def load_state_dict(self, state):
        self.batches = state["batches"]


done = Done()
accelerator.register_for_checkpointing(done)
if given.resume:
    accelerator.load_state(str(given.resume))
    if given.forget == "optimizer":
        adam.optimizer.state.clear()
log = open(given.folder / "log.jsonl", "w", buffering=1)
for epoch in range(done.batches // 6, 3):
    loader.set_epoch(epoch)
    left = accelerator.skip_first_batches(loader, done.batches % 6) if done.batches % 6 else loader
    for x, y in left:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            adam.step()
            rates.step()
            adam.zero_grad()
        done.batches += 1
        if done.batches % 2 == 0:
            log.write(json.dumps({"step": done.batches // 2, "loss": loss.item()}) + "\n")
        if done.batches % 6 == 0:
            accelerator.save_state(str(given.folder / f"state_{done.batches // 2}"))
