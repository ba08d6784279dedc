"""A small network with dropout, compiled or, where compiling is switched off, as it is."""
import json
import sys

import torch
import torch._inductor.config

torch._inductor.config.fallback_random = True


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.nn.functional.dropout(self.layer(x).relu(), 0.3, training=True).sum()


def main(out):
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    step_loss = torch.compile(net, backend="inductor")
    inputs = torch.linspace(-1, 1, 32).reshape(4, 8)
    with open(out + "/metrics.jsonl", "w") as log:
        for step in range(5):
            torch.manual_seed(step)
            loss = step_loss(inputs)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.write(json.dumps({"step": step, "loss": round(loss.item(), 3)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
