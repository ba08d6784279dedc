"""Returns of many seeds: makes the runs, keeps them as compact data, and judges them by the statistical gate.

    python benchmarks/gate_data.py run --recipe cartpole_baseline --seeds 1000..1199
    python benchmarks/gate_data.py run --recipe cartpole_baseline --seeds 2000..2009 --plant one_epoch
    python benchmarks/gate_data.py collect
    python benchmarks/gate_data.py tables

``run`` continues where it was stopped, ``collect`` adds what was run to ``benchmarks/data``, and ``tables``
writes the tables and plots of ``docs/explanation/statistical-gate.md`` from these data alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gate_of_returns
import gate_on_plants
from gate_error_rates import PAGE, PLAN, SOURCE, machine, with_section
from learning_regressions import PLANTS, Plant, plant_in

from reprokit import __version__, recipes

DATA = SOURCE / "benchmarks/data"
BUILD = SOURCE / "build/gate_data"
RECIPES = ("cartpole_baseline", "cartpole_dqn", "pinpad")
NULL = "null"  # the label of runs of the recipe as it is
SECTIONS = ("returns", "returns-margin", "planted")
EVALUATIONS, FINAL = "eval/return_mean", "final/return_mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: what it was evaluated to.

    Attributes:
        label: ``null``, or the planted learning regression.
        sha256: Of its ``metrics.jsonl``.
        evaluations: Mean return of every evaluation in training, at the steps of the recipe.
        final: Mean return of the evaluation at the end.
    """

    label: str
    seed: int
    sha256: str
    evaluations: tuple[float, ...]
    final: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Returns:
    """The runs of a recipe, and the steps at which all of them were evaluated."""

    recipe: str
    steps: tuple[int, ...]
    runs: tuple[Run, ...]

    def of(self, label: str) -> list[Run]:
        return [run for run in self.runs if run.label == label]


def read(path: Path) -> Returns:
    """The data of a recipe.

    Raises:
        ValueError: A run was evaluated at other steps, or stands there twice.
    """
    head, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    steps = tuple(head["steps"])
    runs = tuple(Run(**{**line, "evaluations": tuple(line["evaluations"])}) for line in lines)
    if len({(run.label, run.seed) for run in runs}) < len(runs):
        raise ValueError(f"{path}: a seed stands there twice")
    if any(len(run.evaluations) != len(steps) for run in runs):
        raise ValueError(f"{path}: a run has not one evaluation for each of {len(steps)} steps")
    return Returns(recipe=head["recipe"], steps=steps, runs=runs)


def run_of(path: Path, *, label: str) -> tuple[Run, tuple[int, ...]]:
    """A run from its ``metrics.jsonl``, named after the seed, and the steps of its evaluations."""
    content = path.read_bytes()
    records = [json.loads(line) for line in content.splitlines()]
    evaluated = [record for record in records if EVALUATIONS in record]
    run = Run(
        label=label,
        seed=int(path.stem),
        sha256=hashlib.sha256(content).hexdigest(),
        evaluations=tuple(record[EVALUATIONS] for record in evaluated),
        final=records[-1][FINAL],
    )
    return run, tuple(record["step"] for record in evaluated)


def collect(recipe: str, folder: Path, into: Path) -> int:
    """Add a folder ``<label>/<seed>.jsonl`` to the data of a recipe; returns how many runs there are.

    Raises:
        ValueError: Two runs were evaluated at different steps, or a seed that is there gave other bits.
    """
    labels = [NULL, *(plant.name for plant in PLANTS if plant.recipe == recipe)]
    paths = [(label, path) for label in labels for path in sorted((folder / label).glob("*.jsonl"))]
    found = [run_of(path, label=label) for label, path in paths]
    machines = [machine().rpartition(", load")[0]]
    if into.exists():
        before = read(into)
        found += [(run, before.steps) for run in before.runs]
        head = json.loads(into.read_text(encoding="utf-8").partition("\n")[0])
        machines = list(dict.fromkeys([*head["machine"].split("; "), *machines]))
    if len({steps for _, steps in found}) != 1:
        raise ValueError(f"{folder}: no runs, or runs that were evaluated at different steps")
    runs: dict[tuple[str, int], Run] = {}
    for run, _ in found:
        if runs.setdefault((run.label, run.seed), run) != run:
            raise ValueError(f"{into}: {run.label}, seed {run.seed} gave other bits before")
    head = {
        "recipe": recipe,
        "recipe_digest": recipes.load(recipe, recipes_dir=SOURCE / "recipes").digest,
        "tool": f"reprokit {__version__}",
        "machine": "; ".join(machines),
        "steps": found[0][1],
    }
    in_order = sorted(runs.values(), key=lambda run: (labels.index(run.label), run.seed))
    lines = [head, *({name: getattr(run, name) for name in Run.__slots__} for run in in_order)]
    into.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return len(in_order)


def make_runs(recipe: str, seeds: str, plant_name: str | None, *, folder: Path, backend: str) -> int:
    """Run the seeds in a tree of what is committed, planted where asked; keeps ``metrics.jsonl``."""
    plant = next((one for one in PLANTS if one.name == plant_name), None)
    label = plant.name if plant else NULL
    tree = tree_of(plant, folder / "trees")
    settings = plant.settings if plant else ()
    runs_dir = folder / "runs" / recipe / label
    swept = subprocess.run(
        [
            *(sys.executable, "-m", "reprokit", "sweep", recipe, "--seeds", seeds, "--backend", backend),
            *(word for setting in settings for word in ("--set", setting)),
            *("--runs-dir", str(runs_dir), "--json"),
        ],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        stdout=subprocess.PIPE,
        check=False,
    )
    answer = json.loads(swept.stdout or '{"members": []}')  # empty where it was stopped
    kept = keep_metrics(answer["members"], runs_dir, folder / recipe / label)
    print(f"{kept} runs of {recipe}, {label}")
    return swept.returncode


def keep_metrics(members: Sequence[Mapping[str, Any]], runs_dir: Path, into: Path) -> int:
    """Copy the metrics of all members that are complete, each under its seed; returns how many."""
    into.mkdir(parents=True, exist_ok=True)
    complete = [member for member in members if member["state"] == "complete"]
    for member in complete:
        shutil.copy(runs_dir / member["run"] / "metrics.jsonl", into / f"{member['seed']}.jsonl")
    return len(complete)


def tree_of(plant: Plant | None, trees: Path) -> Path:
    """A clone of this repository at its commit, with the plant in it, made once."""
    git = ("git", "-C", str(SOURCE))
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
    tree = trees / f"{plant.name if plant else NULL}-{commit[:12]}"
    if not tree.exists():
        part = tree.with_suffix(".part")  # one that was stopped is made again
        shutil.rmtree(part, ignore_errors=True)
        subprocess.run(["git", "clone", "--quiet", str(SOURCE), str(part)], check=True)
        if plant:
            plant_in(part, plant)
        part.rename(tree)
    return tree


def write_tables(data: Sequence[Returns], *, only: str | None, gates: int, margin_gates: int) -> int:
    """Write the sections of the page and the plots; 1 where more false alarms came out than 5 % explain."""
    too_many: list[str] = []
    lines_of = (
        gate_of_returns.false_alarm_lines(data, gates, too_many=too_many),
        gate_of_returns.margin_lines(data, margin_gates),
        gate_on_plants.planted_lines(data, margin_gates),
    )
    sections = dict(zip(SECTIONS, lines_of, strict=True))
    for name in [only] if only else sections:
        lines = list(sections[name])  # takes minutes, and the page may change meanwhile
        PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), name, lines), encoding="utf-8")
        print(f"written: {name}", flush=True)
    for one in too_many:
        print(f"more false alarms than {PLAN.alpha:.0%} explains: {one}", file=sys.stderr)
    return int(bool(too_many))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="make runs")
    run.add_argument("--recipe", required=True, choices=RECIPES)
    run.add_argument("--seeds", required=True)
    run.add_argument("--plant", choices=[plant.name for plant in PLANTS])
    run.add_argument("--backend", default="auto")
    collected = commands.add_parser("collect", help="write benchmarks/data")
    for command in (run, collected):
        command.add_argument("--folder", type=Path, default=BUILD, help="where runs are kept")
    tables = commands.add_parser("tables", help="write the tables and plots")
    tables.add_argument("--only", choices=SECTIONS)
    tables.add_argument("--gates", type=int, default=10_000, help="in which nothing changed")
    tables.add_argument("--margin-gates", type=int, default=200, help="with simulated power")
    options = parser.parse_args()
    if options.command == "run":
        return make_runs(
            options.recipe, options.seeds, options.plant, folder=options.folder, backend=options.backend
        )
    if options.command == "collect":
        for recipe in RECIPES:
            if (options.folder / recipe).exists():
                count = collect(recipe, options.folder / recipe, DATA / f"{recipe}.jsonl")
                print(f"{recipe}: {count} runs")
        return 0
    found = [read(path) for recipe in RECIPES if (path := DATA / f"{recipe}.jsonl").exists()]
    return write_tables(found, only=options.only, gates=options.gates, margin_gates=options.margin_gates)


if __name__ == "__main__":
    sys.exit(main())
