"""How fast the language model trains, against nanoGPT's own loop at equal settings, and what both learn.

4 layers, 4 heads, width 128, blocks of 64 characters, 12 of them an update, one thread, the corpus and the
split of `recipes/char_gpt`. nanoGPT's train.py runs as it is, from a clone. Both write a line an update; ours
also digests parameters, gradients and moments, which is part of what is measured. Medians over the updates.
Prints a table, then one JSON object; exits 1 when a bound is missed.

    git clone https://github.com/karpathy/nanoGPT build/nanogpt
    python benchmarks/training_gpt.py --nanogpt build/nanogpt [--steps N] [--repeats N] [--profile portable]
"""

# ruff: noqa: PLC0415 - the training runs in another interpreter, which has torch and not the tool's packages

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import race
from race import OURS, PROJECT

SEED, STEPS = 42, 100
NANOGPT = "nanoGPT"
FILES = ("train.py", "model.py", "configurator.py")
#: How contestants are told where nanoGPT and the corpus are, and which texts of it are held out.
CLONE, ARCHIVE, TEXTS = "REPROKIT_NANOGPT", "REPROKIT_SHAKESPEARE", "REPROKIT_TEXTS"
#: profile → at least so many times as fast
RATIOS = {"native": 1.0, "portable": 1.0}
WARM_UP = 8  # updates that are not counted: their traces have everything
TRACE_INTERVAL = 96  # the recipe's

Stamps = list[tuple[float, float]]


def stamp(stamps: Stamps) -> None:
    stamps.append((time.perf_counter(), time.process_time()))


def train_ours(steps: int, texts: dict[str, Any]) -> Iterator[Any]:
    from reprokit.runtime import config
    from reprokit.runtime.launch import load_trainer
    from reprokit.runtime.metrics import TimingWriter
    from reprokit.runtime.run import Run

    trainer = load_trainer(PROJECT / "recipes" / "trainers" / "gpt.py")
    settings = config.build(
        trainer.Config,
        {
            "texts": texts,
            "training": {"total_timesteps": steps},
            "logging": {
                "eval_interval": steps,
                "save_interval": steps,
                "trace_interval": TRACE_INTERVAL,
                "sample_length": 1,
            },
        },
    )
    stamps: Stamps = []
    written = TimingWriter.write

    def counted(self: TimingWriter, **values: Any) -> None:
        written(self, **values)
        stamp(stamps)

    TimingWriter.write = counted  # type: ignore[method-assign]  # one call an update
    data = {texts["archive"]: Path(os.environ[ARCHIVE])}
    with Run.open(Path.cwd(), seed=SEED, device="cpu", clock=time.perf_counter, data=data) as run:
        yield
        trainer.train(settings, run)
    last = json.loads(Path("metrics.jsonl").read_text().splitlines()[-1])
    yield stamps, last["eval/loss"]


def train_nanogpt(steps: int, texts: dict[str, Any]) -> Iterator[Any]:
    import numpy as np
    import torch._dynamo  # noqa: F401 - its import is not what is measured

    from recipes.parts.characters import Corpus, read_texts

    corpus = Corpus(
        read_texts(Path(os.environ[ARCHIVE]), texts["members"]), held_out=texts["validation"], block_size=64
    )
    folder = Path("data/plays")
    folder.mkdir(parents=True)
    for name, tokens in (("train", corpus.training), ("val", corpus.validation)):
        tokens.numpy().astype(np.uint16).tofile(folder / f"{name}.bin")
    (folder / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": len(corpus.characters)}))
    for name in FILES:
        Path(name).write_bytes((Path(os.environ[CLONE]) / name).read_bytes())
    chosen = {
        "dataset": "plays",
        "device": "cpu",
        "dtype": "float32",
        "compile": False,
        "block_size": 64,
        "batch_size": 12,
        "gradient_accumulation_steps": 1,
        "n_layer": 4,
        "n_head": 4,
        "n_embd": 128,
        "dropout": 0.0,
        "learning_rate": 1e-3,
        "min_lr": 1e-4,
        "beta2": 0.99,
        "warmup_iters": 100,
        "max_iters": steps,
        "lr_decay_iters": max(steps, 101),  # it divides by how many updates there are after the warm-up
        "eval_interval": steps,
        "eval_iters": 20,
        "log_interval": 1,
        "always_save_checkpoint": False,
    }
    sys.argv = ["train.py", *(f"--{key}={value}" for key, value in chosen.items())]
    sys.path.insert(0, str(Path.cwd()))
    stamps: Stamps = []
    clock = time.time

    def counted() -> float:
        stamp(stamps)
        return clock()

    time.time = counted  # the loop looks at it once an update
    told: dict[str, Any] = {"__name__": "__main__", "__file__": "train.py"}
    yield
    with Path("printed.txt").open("w") as printed:
        stdout, sys.stdout = sys.stdout, printed
        exec(compile(Path("train.py").read_text(), "train.py", "exec"), told)  # noqa: S102 - the contestant
        sys.stdout = stdout
    yield stamps, float(told["losses"]["val"])


CONTESTANTS = {OURS: train_ours, NANOGPT: train_nanogpt}


def train_once(name: str, words: argparse.Namespace) -> dict[str, float]:
    """Train in this process: medians over the updates, and the loss on what is held out after all of them."""
    texts = json.loads(os.environ[TEXTS])
    _, (stamps, loss) = race.timed(CONTESTANTS[name](words.steps, texts))
    walls, cpus = zip(*stamps[WARM_UP:], strict=True)
    return {
        "wall_ms": statistics.median(b - a for a, b in pairwise(walls)) * 1e3,
        "cpu_ms": statistics.median(b - a for a, b in pairwise(cpus)) * 1e3,
        "loss": loss,
    }


def judged(profile: str, results: race.Results, *, steps: int) -> dict[str, object]:
    """Milliseconds of CPU an update, and their ratio; printed."""
    found = {
        name: {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        for name, runs in results.items()
    }
    ratio = found[NANOGPT]["cpu_ms"] / found[OURS]["cpu_ms"]
    print(f"{profile} profile, {steps:,} updates, {len(results[OURS])} repeats in turns, one thread")
    for name, one in found.items():
        told = f"{one['cpu_ms']:7.1f} ms of CPU and {one['wall_ms']:7.1f} ms an update"
        print(f"  {name:10} {told}; loss on the texts held out {one['loss']:.3f}")
    missed = ratio < RATIOS[profile]
    print(f"  {ratio:.2f} times as fast as {NANOGPT}{'  MISSED: 1 time' if missed else ''}")
    return {"medians": found, "ratio": ratio, "missed": missed, "runs": results}


def options() -> argparse.Namespace:
    """The words of a race, and where nanoGPT is."""
    clone = argparse.ArgumentParser(add_help=False)
    clone.add_argument("--nanogpt", type=Path, default=os.environ.get(CLONE))
    known, rest = clone.parse_known_args()
    sys.argv[1:] = rest
    words = race.options(__doc__ or "", tuple(RATIOS), steps=STEPS)
    words.nanogpt = known.nanogpt
    return words


def prepare(words: argparse.Namespace) -> None:
    """Tell the contestants where nanoGPT and the texts are; the texts are fetched where they are missing."""
    from reprokit import data, recipes
    from reprokit.harness.running.environments.recipe_data import sources_of
    from reprokit.images.cache import cache_folder

    if words.nanogpt is None:
        sys.exit("name a clone of https://github.com/karpathy/nanoGPT with --nanogpt")
    recipe = recipes.load("char_gpt", recipes_dir=PROJECT / "recipes")
    [source] = sources_of(recipe)
    state = data.fetch(source, cache=cache_folder(None), offline=False, on_progress=lambda *_: None)
    os.environ |= {
        CLONE: str(Path(words.nanogpt).resolve()),
        ARCHIVE: str(state.path.resolve()),
        TEXTS: json.dumps(recipe.training_config["texts"]),
    }


def main() -> int:
    words = options()
    if not words.contestant:
        prepare(words)
    return race.run(
        __file__,
        CONTESTANTS,
        words,
        trained=partial(train_once, words=words),
        told=partial(judged, steps=words.steps),
    )


if __name__ == "__main__":
    sys.exit(main())
