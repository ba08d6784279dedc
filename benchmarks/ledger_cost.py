"""What the ledger of samples, and the trace that it stands in, take of a training.

    python benchmarks/ledger_cost.py

First a small convolutional network on images of 28 × 28 in batches of 64 and random order, once with the
watch's ledger of a ``DataLoader`` and once with a trainer's. Then recipes that train on data, with all that
their traces have, but for the first eight updates, which are in full for the sake of the goldens. The calls
are timed within the run, in CPU time of the thread, which a busy machine changes little. Fails where a ledger
takes more than 0.4 ms an update, or ledger and trace of ``char_gpt`` more than 1 %.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from time import thread_time
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset, dataloader

from reprokit import data, instrumentation, recipes
from reprokit.harness.running.environments.recipe_data import sources_of
from reprokit.images.cache import cache_folder
from reprokit.runtime import config
from reprokit.runtime.launch import load_trainer
from reprokit.runtime.run import Run
from reprokit.runtime.trace import Trace

_PROJECT = Path(__file__).resolve().parent.parent
_ROWS, _EPOCHS = 2048, 2
_MOST_SECONDS = 4e-4  # of a ledger, in an update
#: recipe → what is set, and the share of its time that ledger and trace may take
_RECIPES = {
    "char_gpt": (("training.total_timesteps=108", "logging.eval_interval=1000"), 0.01),
    "mnist_cnn": (("training.total_timesteps=8000", "logging.eval_interval=100000"), None),
}
_IN_FULL = 8  # updates
_EVERY = 48  # updates between two in full


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


def ledgers() -> dict[str, float]:
    """Seconds of either ledger in an update of the small network; printed."""
    sys.path.insert(0, str(Path(instrumentation.__file__).parent))
    from reprokit_hook.loader_ledger import Ledger  # noqa: PLC0415 - it is on the path only now

    torch.manual_seed(1)
    ledger = Ledger()
    hand, take = Timed(ledger._read), Timed(ledger.take)
    ledger._read = hand
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
        traced = Timed(trace.update)
        updates, began = [], thread_time()
        for _ in range(_EPOCHS):
            for images, labels, ids in DataLoader(rows, 64, shuffle=True):
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                adam.zero_grad()
                loss.backward()
                adam.step()
                take()
                traced(step=1, parameters={}, samples=ids.numpy(), arrived=(images, labels), every=_EVERY)
                updates.append(thread_time() - began)
                began = thread_time()
    whole = median(updates)
    found = {
        "the watch's ledger": median(hand.calls) + median(take.calls),
        "a trainer's ledger": fmean(traced.calls[_IN_FULL:]),  # one call writes what the others kept
    }
    for name, seconds in found.items():
        print(f"{name}: {1e6 * seconds:.0f} µs, {seconds / whole:.2%} of an update of {1e6 * whole:,.0f} µs")
    return found


def share_of(name: str, overrides: tuple[str, ...]) -> float:
    """The share of a recipe's training that its ledger and its trace take; printed."""
    recipe = recipes.load(name, recipes_dir=_PROJECT / "recipes", overrides=list(overrides))
    fetched = [
        data.fetch(source, cache=cache_folder(None), offline=False, on_progress=lambda *_: None)
        for source in sources_of(recipe)
    ]
    trainer = load_trainer(_PROJECT / "recipes" / "trainers" / f"{recipe.plain['trainer']}.py")
    settings = config.build(trainer.Config, recipe.training_config)
    ends: list[float] = []
    places = {
        source.name: state.path.resolve() for source, state in zip(sources_of(recipe), fetched, strict=True)
    }
    with (
        tempfile.TemporaryDirectory() as place,
        Run.open(Path(place), seed=42, device="cpu", clock=time.perf_counter, data=places) as run,
    ):
        written, traced = run.timing.write, Timed(run.trace.update)

        def noted(**told: Any) -> None:
            written(**told)
            ends.append(thread_time())

        object.__setattr__(run.timing, "write", noted)
        object.__setattr__(run.trace, "update", traced)
        trainer.train(settings, run)
    whole = ends[-1] - ends[_IN_FULL - 1]
    took = sum(traced.calls[_IN_FULL:])
    update = median(later - one for one, later in pairwise(ends[_IN_FULL:]))
    print(f"{name}, ledger and trace: {took / whole:.2%} of updates of {1e3 * update:.1f} ms")
    return took / whole


def main() -> int:
    torch.set_num_threads(1)
    seconds = ledgers()
    shares = {name: share_of(name, overrides) for name, (overrides, _) in _RECIPES.items()}
    missed = [name for name, (_, most) in _RECIPES.items() if most is not None and shares[name] > most]
    missed += [name for name, one in seconds.items() if one > _MOST_SECONDS]
    print(json.dumps({"benchmark": "ledger_cost", "seconds": seconds, "shares": shares, "missed": missed}))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
