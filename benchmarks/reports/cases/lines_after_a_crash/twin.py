"""A training that logs to TensorBoard; it is interrupted some steps after its last checkpoint, and goes on from there."""
import argparse
import json
import shutil
from pathlib import Path

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboardX import SummaryWriter


def main(asked):
    torch.manual_seed(0)
    rows = torch.randn(32, 4)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    first = 0
    if asked.stopped:
        shutil.copytree(asked.stopped / "events", asked.out / "events")
        saved = torch.load(asked.stopped / "checkpoint.pt")
        model.load_state_dict(saved["model"])
        first = saved["step"]
    writer = SummaryWriter(str(asked.out / "events"), purge_step=first)
    for step in range(first, asked.stop):
        if step % 5 == 0:
            torch.save({"model": model.state_dict(), "step": step}, asked.out / "checkpoint.pt")
        loss = ((model(rows) - rows.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("loss", loss.item(), step)
    writer.close()
    events = EventAccumulator(str(asked.out / "events")).Reload()
    with open(asked.out / "metrics.jsonl", "w") as log:
        for place, event in enumerate(events.Scalars("loss")):
            log.write(json.dumps({"step": place, "logged_step": event.step, "loss": event.value}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=12)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
