"""Patches of a picture chosen at random, in code that a back end traces and does not compile."""
import json
import sys

import torch


def chosen(latent):
    order = torch.argsort(torch.rand(2, 12), dim=-1)[:, :6]
    return latent[torch.arange(2).unsqueeze(-1), order][:, :3]


def main(out):
    torch.manual_seed(0)
    latent = torch.randn(2, 12, 4)
    traced = torch.compile(chosen, backend="aot_eager", fullgraph=True)
    with open(out + "/metrics.jsonl", "w") as log:
        for step in range(4):
            torch.manual_seed(step)
            log.write(json.dumps({"step": step, "mean": traced(latent).mean().item()}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
