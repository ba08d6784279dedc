"""Lightning's Trainer, which saves every third update and accumulates two batches."""

import argparse
import json
import warnings
from pathlib import Path

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume", type=Path)
given = parser.parse_args()
lightning.seed_everything(3)
torch.set_num_threads(1)
rows = TensorDataset(torch.randn(48, 4), torch.randn(48, 1))
log = open(given.folder / "log.jsonl", "w", buffering=1)


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))

    def training_step(self, batch, number):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        if number % 2:
            log.write(json.dumps({"step": self.global_step + 1, "loss": loss.item()}) + "\n")
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.05)


saves = ModelCheckpoint(given.folder, "model_{step}", every_n_train_steps=3, save_top_k=-1)
quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
trainer = lightning.Trainer(
    max_epochs=3, accelerator="cpu", devices=1, accumulate_grad_batches=2, callbacks=[saves], **quiet
)
trainer.fit(Model(), DataLoader(rows, 8, shuffle=True), ckpt_path=given.resume, weights_only=False)
