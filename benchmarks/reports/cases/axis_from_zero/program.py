"""A training that logs scalars to TensorBoard, and can be resumed."""
import argparse
import json
from pathlib import Path

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter


class Logger:
    def __init__(self, folder):
        self.writer = SummaryWriter(str(folder))
        self.steps = 0

    def log(self, loss):
        self.writer.add_scalar("loss", loss, self.steps)
        self.steps += 1


def main(asked):
    torch.manual_seed(4)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    logger, first = Logger(asked.out / "events"), 0
    if asked.stopped:
        saved = torch.load(asked.stopped / "checkpoint.pt")
        model.load_state_dict(saved["model"])
        first = saved["step"]
    for step in range(first, asked.stop):
        inputs = torch.randn(8, 3, generator=torch.Generator().manual_seed(step))
        loss = ((model(inputs) - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logger.log(loss.item())
    logger.writer.close()
    torch.save({"model": model.state_dict(), "step": asked.stop}, asked.out / "checkpoint.pt")
    events = EventAccumulator(str(asked.out / "events")).Reload()
    with open(asked.out / "metrics.jsonl", "w") as log:
        for event in events.Scalars("loss"):
            log.write(json.dumps({"step": event.step, "loss": event.value}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=12)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
