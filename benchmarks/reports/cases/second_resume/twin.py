"""A loader that can be stopped within an epoch and resumed, as often as needed."""
import argparse
import json
from pathlib import Path

import torch


class SkippingSampler:
    def __init__(self, length, seed):
        self.order = torch.randperm(length, generator=torch.Generator().manual_seed(seed)).tolist()
        self.skip = 0

    def __iter__(self):
        first, self.skip = self.skip, 0
        return iter(self.order[first:])


class StatefulLoader:
    def __init__(self, data, sampler, batch_size):
        self.sampler, self.batch_size = sampler, batch_size
        self.inner = torch.utils.data.DataLoader(data, batch_size=batch_size, sampler=sampler)
        self.batches = 0

    def __iter__(self):
        for batch in self.inner:
            self.batches += 1
            yield batch
        self.batches = 0

    def state_dict(self):
        return {"batches": self.batches}

    def load_state_dict(self, state):
        self.batches = state["batches"]
        self.sampler.skip = self.batches * self.batch_size


def main(asked):
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.arange(96, dtype=torch.float32).reshape(48, 2) / 96)
    loader = StatefulLoader(data, SkippingSampler(48, 7), 4)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = 0
    if asked.stopped:
        saved = torch.load(asked.stopped / "checkpoint.pt")
        model.load_state_dict(saved["model"])
        loader.load_state_dict(saved["loader"])
        step = saved["step"]
    with open(asked.out / "metrics.jsonl", "w") as log:
        for (inputs,) in loader:
            loss = ((model(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")
            step += 1
            if step == asked.stop:
                break
    saved = {"model": model.state_dict(), "loader": loader.state_dict(), "step": step}
    torch.save(saved, asked.out / "checkpoint.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=12)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
