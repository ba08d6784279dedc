"""A tagger whose vocabulary is collected from several lists; it can be resumed from its checkpoint."""
import argparse
import json
from pathlib import Path

import torch

LISTS = ["red green blue pink grey brown", "one two three four five six", "cat dog bird fish frog toad"]


def main(asked):
    torch.manual_seed(0)
    vocabulary = sorted(set(word for line in LISTS for word in line.split()))
    numbers = {word: number for number, word in enumerate(vocabulary)}
    data = [(numbers[word], kind) for kind, line in enumerate(LISTS) for word in line.split()]
    model = torch.nn.Sequential(torch.nn.Embedding(len(vocabulary), 8), torch.nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    first = 0
    if asked.stopped:
        saved = torch.load(asked.stopped / "checkpoint.pt")
        model.load_state_dict(saved["model"])
        first = saved["step"]
    words, kinds = (torch.tensor(column) for column in zip(*data))
    with open(asked.out / "metrics.jsonl", "w") as log:
        for step in range(first, asked.stop):
            loss = torch.nn.functional.cross_entropy(model(words), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")
    torch.save({"model": model.state_dict(), "step": asked.stop}, asked.out / "checkpoint.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=12)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
