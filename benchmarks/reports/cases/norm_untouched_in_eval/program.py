"""A critic with spectral normalisation that is looked at before it is trained."""
import json
import sys

import torch
from torch.nn.utils import spectral_norm


def main(out):
    torch.manual_seed(0)
    critic = torch.nn.Sequential(spectral_norm(torch.nn.Linear(8, 16)), torch.nn.ReLU(), spectral_norm(torch.nn.Linear(16, 1)))
    rows = torch.randn(64, 8)
    critic.eval()
    with torch.no_grad():
        scale = critic(rows).abs().mean()
    critic.train()
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.05)
    with open(out + "/metrics.jsonl", "w") as log:
        for step in range(8):
            loss = ((critic(rows) / scale - rows.sum(1, keepdim=True)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.write(json.dumps({"step": step, "loss": loss.item(), "scale": scale.item()}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
