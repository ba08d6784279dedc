"""What determinism costs: a recipe's training as it runs, against the same training left to run free.

The recipe's own settings, a process a training, one thread, in turns, medians of CPU time (the
steadier figure on a machine that does other things too). Free means: torch's
deterministic algorithms are not asked for; the variables of the numerics profile stay in force
unless --free-profile takes them away too, since they choose kernels and are the price of a golden
that holds on another CPU, not of repeating on this one. Exits 1 beyond the recipe's bound
(`limits.determinism_cost`).

    python benchmarks/determinism_cost.py [RECIPE] [--steps N] [--repeats N] [--free-profile]
"""

# ruff: noqa: PLC0415 - the training runs in another interpreter, which has torch and not the tool's packages

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from reprokit.core import numerics

PROJECT = Path(__file__).resolve().parent.parent
DETERMINISTIC, FREE = "deterministic", "free"


def train(trainer: str, config: str, kind: str) -> float:
    """Train in this process; returns the CPU seconds of the training alone."""
    import torch

    from reprokit.runtime import config as settings_of
    from reprokit.runtime.launch import load_trainer
    from reprokit.runtime.run import Run

    torch.set_num_threads(1)
    module = load_trainer(Path(trainer))
    settings = settings_of.build(module.Config, json.loads(config))
    with Run.open(Path.cwd(), seed=42, device="cpu", clock=time.perf_counter) as run:
        if kind == FREE:
            run.seeding.seed_everything = partial(run.seeding.seed_everything, deterministic=False)
        start = time.process_time()
        module.train(settings, run)
        seconds = time.process_time() - start
        in_force = torch.get_deterministic_debug_mode() != 0
    if in_force is not (kind == DETERMINISTIC):
        sys.exit(f"{kind}: torch's deterministic algorithms are {'on' if in_force else 'off'}")
    return seconds


def measure(python: str, recipe, steps: int | None, kind: str, *, free_profile: bool) -> float:
    """One training in a process of its own, CPU seconds."""
    profile = numerics.variables(recipe.numerics, hash_seed=0)
    clean = {key: value for key, value in os.environ.items() if key not in profile}
    if not (free_profile and kind == FREE):
        clean |= profile
    config = json.loads(json.dumps(recipe.training_config))
    if steps:
        config["training"]["total_timesteps"] = steps
    command = [python, __file__, "--child", str(recipe.trainer), json.dumps(config), kind]
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as folder:
        done = subprocess.run(
            command,
            env={**clean, "PYTHONPATH": str(PROJECT)},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"{kind} failed:\n{done.stderr[-2000:]}")
    return float(done.stdout.splitlines()[-1])


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        print(train(*sys.argv[2:]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recipe", nargs="?", default="cartpole_baseline")
    parser.add_argument("--steps", type=int, help="of training; the recipe's own when left out")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--free-profile", action="store_true", help="without the numerics profile too")
    options = parser.parse_args()
    from reprokit import images, recipes

    recipe = recipes.load(options.recipe, recipes_dir=PROJECT / "recipes")
    made = images.resolve(recipe.variant, project=PROJECT, kind="venv", on_progress=lambda _: None)
    seconds: dict[str, list[float]] = {DETERMINISTIC: [], FREE: []}
    for turn in range(options.repeats):
        for kind in (DETERMINISTIC, FREE) if turn % 2 == 0 else (FREE, DETERMINISTIC):
            found = measure(made.python, recipe, options.steps, kind, free_profile=options.free_profile)
            seconds[kind].append(found)
            print(f"{kind:<13} {found:7.2f} s", file=sys.stderr)
    medians = {kind: statistics.median(found) for kind, found in seconds.items()}
    ratio, bound = medians[DETERMINISTIC] / medians[FREE], recipe.limits.determinism_cost
    missed = ratio > bound
    for kind, found in medians.items():
        print(f"{kind:<13} {found:7.2f} s of CPU (median of {options.repeats}, in turns)")
    print(f"{ratio:.3f} times as long; {recipe.name} grants {bound:g}{'  MISSED' if missed else ''}")
    told = {"benchmark": "determinism_cost", "recipe": recipe.name, "ratio": ratio, "bound": bound}
    print(json.dumps({**told, "seconds": seconds, "missed": missed}))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
