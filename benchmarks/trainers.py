"""How fast the trainers train, against themselves at another commit of this repository.

Each of the four trains a few updates of a recipe that uses it, once by the files of the other commit and once
by those here, in turns, every training a process of its own under the portable profile, with one thread. CPU
time of the training is compared, imports not counted. Prints a table, then one JSON object; exits 1 when one
takes more than 1.05 times as long: a shared machine differs by as much from itself.

    python benchmarks/trainers.py [--before COMMIT] [--repeats N] [--trainer NAME …]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from reprokit import recipes
from reprokit.core import numerics

PROJECT = Path(__file__).resolve().parent.parent
#: trainer → recipe, and how many steps of it are trained
TRAINED = {
    "ppo": ("cartpole_baseline", 16_384),
    "ppo_tuned": ("cartpole_tuned", 8_192),
    "ppo_tasks": ("multitask", 12_288),
    "dqn": ("cartpole_dqn", 4_000),
}
BOUND = 1.05

# Runs in the tree whose trainer it is: imports first, then the clock.
CHILD = """
import json, sys, time
from pathlib import Path
import torch
from reprokit.runtime import config
from reprokit.runtime.launch import load_trainer
from reprokit.runtime.run import Run
torch.set_num_threads(1)
trainer = load_trainer(Path(sys.argv[1]))
settings = config.build(trainer.Config, config.read(Path(sys.argv[2])))
with Run.open(Path.cwd(), seed=42, device="cpu", clock=time.perf_counter) as run:
    start = time.process_time()
    trainer.train(settings, run)
    print(json.dumps(time.process_time() - start))
"""


def tree_of(commit: str, folder: Path) -> Path:
    """Recipes and package of a commit."""
    packed = subprocess.run(
        ["git", "-C", str(PROJECT), "archive", commit, "recipes", "reprokit"], check=True, capture_output=True
    )
    folder.mkdir()
    subprocess.run(["tar", "--extract"], input=packed.stdout, cwd=folder, check=True)
    return folder


def cpu_seconds(tree: Path, trainer: str, steps: int, recipe: str) -> float:
    """One training by the files of a tree."""
    chosen = [f"training.total_timesteps={steps}", "logging.final_eval_episodes=1"]
    chosen += [f"logging.eval_interval={10**9}", f"logging.save_interval={10**9}"]
    text = recipes.load(recipe, recipes_dir=tree / "recipes", overrides=chosen).config_yaml()
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(text, encoding="utf-8")
        variables = numerics.variables("portable", hash_seed=0)
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(tree / "recipes" / "trainers" / f"{trainer}.py"), str(config)],
            cwd=folder,
            env={**os.environ, **variables, "PYTHONPATH": str(tree)},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    return float(json.loads(done.stdout))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", default="HEAD", metavar="COMMIT", help="whose trainers are the others")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--trainer", choices=TRAINED, action="append", help="all when left out")
    options = parser.parse_args()
    names = options.trainer or list(TRAINED)
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as folder:
        trees = {"before": tree_of(options.before, Path(folder) / "before"), "now": PROJECT}
        times: dict[str, dict[str, list[float]]] = {name: {tree: [] for tree in trees} for name in names}
        for repeat in range(options.repeats):
            for name in names:
                recipe, steps = TRAINED[name]
                for tree in list(trees) if repeat % 2 else reversed(list(trees)):
                    times[name][tree].append(cpu_seconds(trees[tree], name, steps, recipe))
    print(f"portable profile, {options.repeats} repeats in turns, one thread, CPU seconds (medians)")
    ratios = {}
    for name in names:
        before, now = (statistics.median(times[name][tree]) for tree in ("before", "now"))
        ratios[name] = now / before
        missed = "  MISSED" if ratios[name] > BOUND else ""
        print(f"  {name:10} {TRAINED[name][1]:7,} steps {before:7.2f} {now:7.2f}  {ratios[name]:.3f}{missed}")
    print(json.dumps({"benchmark": "trainers", "ratios": ratios, "times": times}))
    return int(any(ratio > BOUND for ratio in ratios.values()))


if __name__ == "__main__":
    sys.exit(main())
