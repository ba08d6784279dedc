"""How long an update of `mnist_cnn` takes, against a plain PyTorch loop at equal settings.

Prints a table, then one JSON object; exits 1 when a bound is missed. Equal terms: race.py.

    python benchmarks/training_supervised.py --python .venv/bin/python [--repeats N] [--profile portable]

The plain loop is what the documentation of PyTorch teaches: a DataLoader over a TensorDataset, Conv2d, ReLU,
MaxPool2d, cross_entropy, torch.optim.Adam, and the loss read out after every update. Ours writes metrics,
digests of everything and the ids of its samples meanwhile. Neither augments. The time of an update is the
median of the times from one to the next; evaluations are not counted.
"""

# ruff: noqa: PLC0415 - a contestant imports what it needs, in a process of its own

from __future__ import annotations

import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

import race
from race import OURS, PROJECT

SEED, ROWS, SIDE, EPOCHS, BATCH, RATE = 42, 2_000, 28, 3, 64, 3e-3
PLAIN = "plain PyTorch"
RATIOS = {"portable": 1.0, "native": 1.0}


def rows():
    """Pixels as in MNIST, 0 to 255, most of them 0, and labels."""
    import numpy as np

    rng = np.random.default_rng(0)
    pixels = rng.integers(256, size=(ROWS, SIDE * SIDE)) * (rng.random((ROWS, SIDE * SIDE)) < 0.2)
    return pixels, np.arange(ROWS) % 10


def train_ours(times: list[float]):
    import numpy as np

    from reprokit.runtime import config
    from reprokit.runtime.launch import load_trainer
    from reprokit.runtime.run import Run

    trainer = load_trainer(PROJECT / "recipes" / "trainers" / "classifier.py")
    pixels, labels = rows()
    np.savetxt("rows.csv", np.column_stack([pixels, labels]), fmt="%d", delimiter=",")
    settings = config.build(
        trainer.Config,
        {
            "dataset": {"file": "rows.csv", "side": SIDE, "largest": 255, "num_classes": 10},
            "model": {"architecture": "cnn", "channels": [8, 16], "hidden_sizes": [64]},
            "training": {
                "total_timesteps": EPOCHS * ROWS * 4 // 5,
                "batch_size": BATCH,
                "learning_rate": RATE,
                "lr_schedule": "constant",
            },
            "logging": {"save_interval": 10**9, "eval_interval": 10**9},
        },
    )
    yield
    data = {"rows.csv": Path("rows.csv")}
    with Run.open(Path.cwd(), seed=SEED, device="cpu", clock=time.perf_counter, data=data) as run:
        write = run.timing.write

        def noted(**told):  # the last thing of an update
            write(**told)
            times.append(time.perf_counter())

        object.__setattr__(run.timing, "write", noted)
        trainer.train(settings, run)


def train_plain(times: list[float]):
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.utils.data import DataLoader, TensorDataset

    pixels, labels = rows()
    images = torch.from_numpy(pixels).float().div(255).view(-1, 1, SIDE, SIDE)
    kept = ROWS * 4 // 5  # ours holds out a fifth
    dataset = TensorDataset(images[:kept], torch.from_numpy(labels)[:kept])
    torch.manual_seed(SEED)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 49, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    yield
    for _ in range(EPOCHS):
        for part, classes in DataLoader(dataset, batch_size=BATCH, shuffle=True):
            adam.zero_grad()
            loss = functional.cross_entropy(model(part), classes)
            loss.backward()
            adam.step()
            loss.item()
            times.append(time.perf_counter())


CONTESTANTS = {OURS: train_ours, PLAIN: train_plain}


def train_once(name: str) -> dict[str, float]:
    """Train in this process: milliseconds of an update, the median and the shortest."""
    times: list[float] = []
    race.timed(CONTESTANTS[name](times))
    steps = [1e3 * (later - one) for one, later in pairwise(times)]
    return {"median_ms": statistics.median(steps), "best_ms": min(steps), "updates": len(times)}


def judged(profile: str, results: race.Results) -> dict[str, object]:
    """How many times as fast an update is, and whether the bound is missed; printed."""
    found = {name: statistics.median(run["median_ms"] for run in runs) for name, runs in results.items()}
    best = {name: min(run["best_ms"] for run in runs) for name, runs in results.items()}
    ratio = found[PLAIN] / found[OURS]
    missed = [f"{RATIOS[profile]} times the plain loop"] if ratio < RATIOS[profile] else []
    print(f"{profile} profile, batches of {BATCH}, {len(results[OURS])} repeats in turns, one thread")
    for name, value in found.items():
        print(f"  {name:20} {value:8.2f} ms an update (best {best[name]:8.2f})")
    word = f"  MISSED: {', '.join(missed)}" if missed else ""
    print(f"  {ratio:.2f} times as fast{word}")
    return {"median_ms": found, "best_ms": best, "ratio": ratio, "missed": missed}


def main() -> int:
    words = race.options(__doc__, tuple(RATIOS))
    words.cleanrl = None
    return race.run(__file__, CONTESTANTS, words, trained=train_once, told=judged)


if __name__ == "__main__":
    sys.exit(main())
