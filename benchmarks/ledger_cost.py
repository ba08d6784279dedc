"""What the ledger of samples takes of a training: the watch's for a ``DataLoader``, and that of a trainer.

    python benchmarks/ledger_cost.py

One training of a small convolutional network on images of 28 × 28 in batches of 64 and random order, on
one thread. The calls of each ledger are timed within that run, in CPU time of the thread, which a busy
machine changes little. Fails where either takes more than 1 % of the run.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset, dataloader

from reprokit import instrumentation
from reprokit.runtime.samples import sample_contents
from reprokit.runtime.trace import Trace

_BOUND, _ROWS, _EPOCHS = 0.01, 2048, 2


class Timed:
    """A function, and how long each of its calls took, in seconds."""

    def __init__(self, natural: Callable[..., Any]) -> None:
        self.natural, self.calls = natural, []

    def __call__(self, *args: Any, **options: Any) -> Any:
        began = thread_time()
        try:
            return self.natural(*args, **options)
        finally:
            self.calls.append(thread_time() - began)


def main() -> int:
    sys.path.insert(0, str(Path(instrumentation.__file__).parent))
    from reprokit_hook.loader_ledger import Ledger  # noqa: PLC0415 - it is on the path only now

    torch.set_num_threads(1)
    torch.manual_seed(1)
    ledger = Ledger()
    hand, take, contents = Timed(ledger._hand), Timed(ledger.take), Timed(sample_contents)
    ledger._hand = hand
    ledger.watch(dataloader)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(32 * 11 * 11, 10),
    )
    adam = torch.optim.Adam(model.parameters())
    rows = TensorDataset(torch.rand(_ROWS, 1, 28, 28), torch.randint(10, (_ROWS,)), torch.arange(_ROWS))
    with tempfile.TemporaryDirectory() as place, Trace(Path(place, "trace.jsonl")) as trace:
        sampled = Timed(trace._sampled)
        trace._sampled = sampled
        updates, began = [], thread_time()
        for _ in range(_EPOCHS):
            for images, labels, ids in DataLoader(rows, 64, shuffle=True):
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                adam.zero_grad()
                loss.backward()
                adam.step()
                take()
                found = contents(images, labels)
                trace.update(step=1, parameters={}, samples=ids.numpy(), contents=found)
                updates.append(thread_time() - began)
                began = thread_time()
    whole = median(updates)
    shares = {
        "the watch": median(hand.calls) + median(take.calls),
        "a trainer's trace": median(contents.calls) + median(sampled.calls),
    }
    for name, seconds in shares.items():
        print(f"{name}: {seconds / whole:.2%}, {1e6 * seconds:.0f} µs of {1e6 * whole:,.0f} an update")
    return 0 if max(shares.values()) <= _BOUND * whole else 1


if __name__ == "__main__":
    sys.exit(main())
