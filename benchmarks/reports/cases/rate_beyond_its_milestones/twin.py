"""A network whose rate is halved at milestones, and whose training goes on from a saved state."""
import argparse
import json
from pathlib import Path

import torch


def main(asked):
    torch.manual_seed(0)
    rows = torch.randn(48, 6)
    targets = rows.sin().sum(1, keepdim=True)
    model = torch.nn.Linear(6, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[8, 12], gamma=0.5)
    first = 0
    if asked.stopped:
        state = torch.load(asked.stopped / "state.pt")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        first = state["step"]
    with open(asked.out / "metrics.jsonl", "w") as log:
        for step in range(first, asked.stop):
            loss = torch.nn.functional.mse_loss(model(rows), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            rate = optimizer.param_groups[0]["lr"]
            log.write(json.dumps({"step": step, "loss": loss.item(), "rate": rate}) + "\n")
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": asked.stop}
    state["schedule"] = schedule.state_dict()
    torch.save(state, asked.out / "state.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=16)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
