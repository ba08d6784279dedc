"""What the watch of ``diagnose`` costs: a recipe's training under it, against the same training without.

The recipe's own settings in its own virtual environment, one process a training, one thread, in turns,
medians of the CPU time of the whole process, imports and all. ``light`` is what every run of a diagnosis is
made under; ``deep`` looks into every operation and every draw of one update in the middle. The metrics of
all must be the same bytes. Exits 1 where ``light`` costs more than 3 %.

    python benchmarks/diagnose_cost.py [RECIPE] [--steps N] [--repeats N]
"""

# ruff: noqa: PLC0415 - the training runs in another interpreter, which has torch and not the tool's packages

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from reprokit.core import numerics

PROJECT = Path(__file__).resolve().parent.parent
HOOK = PROJECT / "reprokit" / "runtime" / "hook"
PLAIN, LIGHT, DEEP = "plain", "light", "deep"
BOUND = 1.03


def train(trainer: str, config: str) -> None:
    """Train in this process."""
    import torch

    from reprokit.runtime import config as settings_of
    from reprokit.runtime.launch import load_trainer
    from reprokit.runtime.run import Run

    torch.set_num_threads(1)
    module = load_trainer(Path(trainer))
    settings = settings_of.build(module.Config, json.loads(config))
    with Run.open(Path.cwd(), seed=42, device="cpu", clock=time.perf_counter) as run:
        module.train(settings, run)


def measure(python: str, recipe, config: dict, kind: str, *, middle: int) -> tuple[float, dict, bytes]:
    """One training in a process of its own: CPU seconds, what the watch tells of itself, the metrics."""
    command = [python, __file__, "--child", str(recipe.trainer), json.dumps(config)]
    environment = {
        **os.environ,
        **numerics.variables(recipe.numerics, hash_seed=0),
        "PYTHONPATH": str(PROJECT),
    }
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as made:
        folder, traced = Path(made, "run"), Path(made, "trace")
        folder.mkdir()
        traced.mkdir()
        if kind != PLAIN:
            orders = {"out": str(traced), "output": str(folder), "key": "0", **_orders(kind, middle)}
            (traced / "orders.json").write_text(json.dumps(orders))
            environment |= {
                "PYTHONPATH": f"{HOOK}{os.pathsep}{PROJECT}",
                "REPROKIT_HOOK": str(traced / "orders.json"),
            }
        child = os.posix_spawn(  # one process, whose own CPU time is told when it ends
            "/bin/sh", ["sh", "-c", 'cd "$0" && exec "$@" > out.log 2>&1', str(folder), *command], environment
        )
        _, status, used = os.wait4(child, 0)
        if os.waitstatus_to_exitcode(status):
            sys.exit(f"{kind} failed:\n{(folder / 'out.log').read_text()[-2000:]}")
        told = json.loads((traced / "trace-0.json").read_bytes()) if kind != PLAIN else {}
        metrics = (folder / "metrics.jsonl").read_bytes()
    return used.ru_utime + used.ru_stime, told, metrics


def _orders(kind: str, middle: int) -> dict:
    if kind == LIGHT:
        return {"level": "light", "progress": {"mode": "measure"}}
    stretch = {"mode": "deep", "from": [middle, 0], "to": [middle, 2**62]}
    return {"level": "deep", "progress": stretch}


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        train(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recipe", nargs="?", default="cartpole_baseline")
    parser.add_argument("--steps", type=int, help="of training; the recipe's own when left out")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    from reprokit import images, recipes

    recipe = recipes.load(options.recipe, recipes_dir=PROJECT / "recipes")
    made = images.resolve(recipe.variant, project=PROJECT, kind="venv", on_progress=lambda _: None)
    config = json.loads(json.dumps(recipe.training_config))
    if options.steps:
        config["training"]["total_timesteps"] = options.steps
    _, told, metrics = measure(
        made.python, recipe, config, LIGHT, middle=0
    )  # warm; how many updates there are
    updates = told["progress"]["updates"]
    seconds: dict[str, list[float]] = {PLAIN: [], LIGHT: [], DEEP: []}
    for turn in range(options.repeats):
        kinds = list(seconds)
        for kind in kinds[turn % 3 :] + kinds[: turn % 3]:
            found, told, same = measure(made.python, recipe, config, kind, middle=updates // 2)
            if same != metrics:
                sys.exit(f"{kind}: the watch changes the numbers")
            seconds[kind].append(found)
            print(f"{kind:<6} {found:7.2f} s  {_watched(told)}", file=sys.stderr)
    return report(recipe.name, seconds, updates=updates, repeats=options.repeats)


def _watched(told: dict) -> str:
    if not told:
        return ""
    spent, events = told["progress"]["spent_s"], len(told["progress"]["events"])
    return f"{events} events, {len(told['streams'])} operations, {spent:.3f} s spent on digests"


def report(name: str, seconds: dict[str, list[float]], *, updates: int, repeats: int) -> int:
    """Print medians and ratios; 1 where the bound is missed."""
    medians = {kind: statistics.median(found) for kind, found in seconds.items()}
    ratios = {kind: medians[kind] / medians[PLAIN] for kind in (LIGHT, DEEP)}
    missed = ratios[LIGHT] > BOUND
    for kind, found in medians.items():
        print(f"{kind:<6} {found:7.2f} s of CPU (median of {repeats}, in turns)")
    print(f"light {ratios[LIGHT]:.3f} times as long, bound {BOUND:g}{'  MISSED' if missed else ''}")
    print(f"deep, of one update in {updates:,}: {ratios[DEEP]:.3f} times as long")
    told = {"benchmark": "diagnose_cost", "recipe": name, "ratios": ratios, "bound": BOUND}
    print(json.dumps({**told, "seconds": seconds, "missed": missed}))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
