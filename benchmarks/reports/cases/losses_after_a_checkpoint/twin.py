"""A network with dropout in Lightning that is stopped after an epoch and resumed."""
import argparse
import json
import warnings
from pathlib import Path

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


class Task(L.LightningModule):
    def __init__(self, log):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Dropout(0.2), torch.nn.Linear(16, 2))
        self.file = log

    def training_step(self, batch, number):
        torch.manual_seed(self.global_step)
        loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.file.write(json.dumps({"step": self.global_step, "loss": loss.item()}) + "\n")
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.01)


def main(asked):
    L.seed_everything(0, verbose=False)
    rows = torch.randn(32, 4)
    data = TensorDataset(rows, (rows.sum(1) > 0).long())
    with open(asked.out / "metrics.jsonl", "w") as log:
        trainer = L.Trainer(
            max_epochs=asked.stop, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, deterministic=True,
        )
        stopped = asked.stopped / "last.ckpt" if asked.stopped else None
        trainer.fit(Task(log), DataLoader(data, batch_size=8, shuffle=False), ckpt_path=stopped, weights_only=False)
    trainer.save_checkpoint(asked.out / "last.ckpt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=4)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
