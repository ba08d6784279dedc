"""A recipe as a function that a search can ask many times: every combination of a grid is trained once.

    python benchmarks/tune_on_recipe.py        # trains what is not there yet, then writes benchmarks/data

``tune_quality.py`` then holds `reprokit tune` against plain Optuna on these results: what a study asks for
was really trained, and twenty studies cost no more than one.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from gate_data import EVALUATIONS, SOURCE

from reprokit import recipes

RECIPE, SEED = "cartpole_baseline", 42
DATA = SOURCE / "benchmarks/data/tune_cartpole_baseline.jsonl"
FIXED = {"training.total_timesteps": 20480, "logging.eval_interval": 2048}
#: Setting → its values in order; a search draws their positions, so it sees which are neighbours.
GRID: dict[str, tuple[float, ...]] = {
    "training.learning_rate": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
    "training.n_epochs": (3, 6, 10, 20),
    "training.batch_size": (64, 128, 256, 512),
    "training.gae_lambda": (0.8, 0.95, 1.0),
}


def make_runs(runs_dir: Path, *, backend: str) -> list[Mapping[str, Any]]:
    """Train every combination; the members of the sweep, all complete.

    Raises:
        RuntimeError: Some are not.
    """
    asked = {**{name: (value,) for name, value in FIXED.items()}, **GRID}
    words = [f"{name}={','.join(map(str, values))}" for name, values in asked.items()]
    swept = subprocess.run(
        [
            *(sys.executable, "-m", "reprokit", "sweep", RECIPE, "--seeds", f"{SEED},"),
            *(part for word in words for part in ("--set", word)),
            *("--backend", backend, "--runs-dir", str(runs_dir), "--json"),
        ],
        cwd=SOURCE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        check=False,
    )
    if swept.returncode:
        raise RuntimeError("some members are not complete; the same command goes on")
    members: list[Mapping[str, Any]] = json.loads(swept.stdout)["members"]
    return members


def line_of(run: Path) -> dict[str, Any]:
    """What was set, and the mean return over all evaluations: how fast this learns."""
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    content = (run / "metrics.jsonl").read_bytes()
    returns = [found[EVALUATIONS] for found in map(json.loads, content.splitlines()) if EVALUATIONS in found]
    return {
        "at": [values.index(value_at(config, name)) for name, values in GRID.items()],
        "return": sum(returns) / len(returns),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def value_at(config: Mapping[str, Any], path: str) -> Any:
    for part in path.split("."):
        config = config[part]
    return config


def results() -> dict[tuple[int, ...], float]:
    """Position in every list of ``GRID`` → mean return.

    Raises:
        ValueError: Not every combination is there.
    """
    _, *lines = map(json.loads, DATA.read_text(encoding="utf-8").splitlines())
    found = {tuple(line["at"]): float(line["return"]) for line in lines}
    if set(found) != set(itertools.product(*(range(len(values)) for values in GRID.values()))):
        raise ValueError(f"{DATA}: not one result for every combination of GRID")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs-dir", type=Path, default=SOURCE / "build/tune_on_recipe")
    parser.add_argument("--backend", default="auto")
    asked = parser.parse_args()
    members = make_runs(asked.runs_dir, backend=asked.backend)
    lines = [line_of(asked.runs_dir / member["run"]) for member in members]
    lines.sort(key=lambda line: line["at"])
    digest = recipes.load(RECIPE, recipes_dir=SOURCE / "recipes").digest
    head = {"recipe": RECIPE, "recipe_digest": digest, "seed": SEED, "fixed": FIXED, "grid": GRID}
    DATA.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)), encoding="utf-8")
    print(f"{len(lines)} results")


if __name__ == "__main__":
    main()
