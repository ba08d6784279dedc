"""A program of a moment, as a recipe of this Python, and how a sweep of it is asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.harness import Request, Sweep, SweepAsked, SweepSession, sweep
from reprokit.project import Project
from reprokit.session import HowFar
from support.command_recipe import Repository
from support.recorded_progress import RecordedProgress

RECIPE = """\
schema: 1
name: train
title: A program as it is
variant: none
command: [python, train.py, "{seed}", "{run_dir}", "1"]
seeds: [3, 4, 6]
platforms: [cpu-x86_64]
"""
#: Seed 5 fails for as long as there is a file ``broken`` next to the folder of runs.
PROGRAM = """\
import json, os, random, sys
from settings import RATE
seed, run_dir = int(sys.argv[1]), sys.argv[2]
random.seed(seed)
value = 1.0
with open(f"{run_dir}/log.jsonl", "w") as log:
    for step in range(4):
        value -= RATE * random.random()
        log.write(json.dumps({"step": step, "return": value}) + "\\n")
if seed == 5 and os.path.exists(f"{run_dir}/../../../../broken"):
    sys.exit("no five")
"""


@dataclass(slots=True)
class RecordedSweep(RecordedProgress):
    """A progress display that remembers the phases of each member."""

    members: list[tuple[str, str]] = field(default_factory=list)

    def member(self, label: str, how_far: HowFar, /) -> None:
        if (label, how_far.phase) not in self.members:
            self.members.append((label, how_far.phase))


def swept(
    root: Path, *names: str, told: RecordedSweep | None = None, dry_run: bool = False, **asked: Any
) -> Sweep:
    """A sweep in a project, in virtual environments or this Python."""
    request = asked.pop("request", Request(backend="local"))
    return sweep(
        SweepAsked(names=names or ("train",), **asked),
        request,
        session=SweepSession(project=Project.around(root), progress=told or RecordedSweep()),
        dry_run=dry_run,
    )


def run_folders(root: Path) -> list[Path]:
    return sorted(path.parent for path in (root / "runs").glob("*/*/run.json"))


def seeds_of(folders: list[Path]) -> list[int]:
    return sorted(json.loads((folder / "run.json").read_text())["seed"] for folder in folders)


def prepare(repository: Repository, *, program: str = PROGRAM, recipe: str = RECIPE) -> Repository:
    """The program and its recipe in someone's repository, in which ``broken`` is no change of the source."""
    (repository.root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\nbroken\n")
    repository.write(train_py=program, recipes__train__recipe_yaml=recipe)
    return repository
