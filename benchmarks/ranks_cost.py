"""What it costs that 1, 2 and 4 ranks train to the same bits: gradients added up in a fixed order.

Each recipe trains some updates on ranks that gloo adds up for, and on as many in a fixed order, in turns, in
this Python under the portable profile; one process that trains alone stands next to them. An
update's time is the median over those after the first eight, which are traced in full. A ratio is of two
trainings of one turn, and what is told is the median of the turns. Prints a table, then one JSON object;
exits 1 where two ranks in a fixed order take more than the bound times as long as two that gloo adds up for.

    python benchmarks/ranks_cost.py [--repeats N] [--recipe NAME …]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from reprokit import recipes
from reprokit.core import numerics
from reprokit.harness.running.environments.recipe_data import fetched
from reprokit.layout import TIMING

PROJECT = Path(__file__).resolve().parent.parent
#: recipe → what is set, so that it takes seconds and nothing but updates is timed
RECIPES = {
    "mnist_cnn": (
        "training.total_timesteps=4800",
        "logging.eval_interval=100000",
        "logging.save_interval=100000",
    ),
    "char_gpt": (
        "training.total_timesteps=40",
        "training.lr_warmup_steps=10",
        "training.gradient_accumulation_steps=1",
        "logging.eval_interval=1000",
        "logging.save_interval=1000",
        "logging.final_eval_blocks=12",
        "logging.num_samples=1",
        "logging.sample_length=1",
    ),
}
#: name in the table → `ranks` of the recipe
TRAINED = {
    "one process": "null",
    "fixed_order, 1 rank": "{world_size: 1, reduction: fixed_order}",
    "all_reduce, 2 ranks": "{world_size: 2}",
    "fixed_order, 2 ranks": "{world_size: 2, reduction: fixed_order}",
    "all_reduce, 4 ranks": "{world_size: 4}",
    "fixed_order, 4 ranks": "{world_size: 4, reduction: fixed_order}",
}
_IN_FULL = 8
BOUND = 1.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--recipe", action="append", choices=sorted(RECIPES))
    options = parser.parse_args()
    answer, missed = {}, False
    for recipe in options.recipe or RECIPES:
        turns = [
            {name: update_s(recipe, ranks) for name, ranks in TRAINED.items()} for _ in range(options.repeats)
        ]
        found = {}
        print(f"\n| {recipe} | ms an update | times one process | times all_reduce |\n|---|---|---|---|")
        for name in TRAINED:
            beside = name.replace("fixed_order", "all_reduce")
            beside = beside if beside in TRAINED else "one process"
            ratios = [
                statistics.median(turn[name] / turn[other] for turn in turns)
                for other in ("one process", beside)
            ]
            found[name] = {"update_s": statistics.median(turn[name] for turn in turns), "ratios": ratios}
            print(f"| {name} | {1e3 * found[name]['update_s']:.1f} | {ratios[0]:.2f} | {ratios[1]:.2f} |")
        answer[recipe] = found
        missed |= found["fixed_order, 2 ranks"]["ratios"][1] > BOUND
    print(json.dumps({"bound": BOUND, "repeats": options.repeats, "recipes": answer}))
    return int(missed)


def update_s(name: str, ranks: str) -> float:
    """Seconds of an update of one training, the median."""
    overrides = [*RECIPES[name], f"ranks={ranks}"]
    recipe = recipes.load(name, recipes_dir=PROJECT / "recipes", overrides=overrides)
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as made:
        folder = Path(made)
        (folder / "config.yaml").write_text(recipe.config_yaml(), encoding="utf-8")
        asked = recipe.ranks or {}
        launcher = "launch_ranks" if asked.get("world_size", 1) > 1 else "launch"
        command = [sys.executable, "-m", f"reprokit.runtime.{launcher}", "--run-dir", made, "--seed", "42"]
        command += ["--config", str(folder / "config.yaml")]
        if asked:
            command += ["--ranks", str(asked["world_size"]), "--reduction", str(asked["reduction"])]
            command += ["--shards", str(asked["shards"])]
        for one in fetched(recipe):
            command += ["--data", one.name, one.contents, str(one.path)]
        variables = {**os.environ, **numerics.variables("portable", hash_seed=0), "PYTHONPATH": str(PROJECT)}
        command += ["--", str(recipe.trainer)]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        at = [json.loads(line)["elapsed_s"] for line in (folder / TIMING).read_text().splitlines()]
    return statistics.median(later - sooner for sooner, later in pairwise(at[_IN_FULL:]))


if __name__ == "__main__":
    sys.exit(main())
