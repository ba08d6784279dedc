"""A detector's head with a schedule of the learning rate, which can be resumed."""
import argparse
import json
from pathlib import Path

import torch


def main(asked):
    torch.manual_seed(1)
    model = torch.nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[3, 8], gamma=0.1)
    first = 0
    if asked.stopped:
        saved = torch.load(asked.stopped / "checkpoint.pt")
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        first = saved["epoch"]
    with open(asked.out / "metrics.jsonl", "w") as log:
        for epoch in range(first, asked.stop):
            inputs = torch.randn(16, 6, generator=torch.Generator().manual_seed(epoch))
            loss = torch.nn.functional.cross_entropy(model(inputs), inputs[:, :3].argmax(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.write(json.dumps({"step": epoch, "loss": loss.item(), "lr": scheduler.get_last_lr()[0]}) + "\n")
            scheduler.step()
    saved = {"model": model.state_dict(), "epoch": asked.stop, "optimizer": optimizer.state_dict()}
    saved["scheduler"] = scheduler.state_dict()
    torch.save(saved, asked.out / "checkpoint.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=12)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
