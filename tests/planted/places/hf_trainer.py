"""Hugging Face's Trainer, which saves every third update and accumulates two batches."""

import argparse
import json
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume")
parser.add_argument("--forget", default="")
given = parser.parse_args()
set_seed(3)
torch.set_num_threads(1)
log = open(given.folder / "log.jsonl", "w", buffering=1)


class Rows(Dataset):
    x, y = torch.randn(48, 4), torch.randn(48, 1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return {"x": self.x[index], "labels": self.y[index]}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))

    def forward(self, x, labels):
        out = self.net(x)
        return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}


class After(TrainerCallback):
    def on_train_begin(self, args, state, control, optimizer=None, **more):
        if given.resume and given.forget == "optimizer":
            optimizer.optimizer.state.clear()

    def on_step_end(self, args, state, control, model=None, **more):
        value = sum(float(one.detach().sum()) for one in model.parameters())
        log.write(json.dumps({"step": state.global_step, "parameters": value}) + "\n")


arguments = TrainingArguments(
    str(given.folder),
    num_train_epochs=3,
    per_device_train_batch_size=8,
    gradient_accumulation_steps=2,
    save_steps=3,
    use_cpu=True,
    report_to=[],
    logging_strategy="no",
    disable_tqdm=True,
)
Trainer(Model(), arguments, train_dataset=Rows(), callbacks=[After()]).train(given.resume)
