"""A training loop with accelerate that skips the batches of the epoch in which it was stopped."""
import argparse
import json
from pathlib import Path

import torch
from accelerate import Accelerator, skip_first_batches
from torch.utils.data import DataLoader, TensorDataset


def main(asked):
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    rows = torch.randn(24, 3)
    loader = DataLoader(TensorDataset(rows, rows.sum(1, keepdim=True)), batch_size=4)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    step, first_epoch, resume_batch = 0, 0, None
    if asked.stopped:
        accelerator.load_state(str(asked.stopped / "state"))
        step = json.loads((asked.stopped / "step.json").read_text())
        first_epoch, resume_batch = divmod(step, len(loader))
    with open(asked.out / "metrics.jsonl", "w") as log:
        for epoch in range(first_epoch, 3):
            if resume_batch is not None and epoch == first_epoch:
                batches = skip_first_batches(loader, resume_batch)
            else:
                batches = loader
            for inputs, targets in batches:
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                log.write(json.dumps({"step": step, "epoch": epoch, "loss": loss.item()}) + "\n")
                step += 1
                if step == asked.stop:
                    accelerator.save_state(str(asked.out / "state"))
                    (asked.out / "step.json").write_text(json.dumps(step))
                    return


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=99)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
