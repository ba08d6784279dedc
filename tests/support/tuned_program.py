"""A program of a moment with two settings, as a recipe of this Python, and how it is tuned."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from reprokit.features.tune.asked import Asked
from reprokit.features.tune.study import Study
from reprokit.features.tune.tune import tune
from reprokit.harness import Request
from reprokit.project import Project
from reprokit.recipes import read_search_space
from support.command_recipe import Repository
from support.sweep_program import RecordedSweep

RECIPE = """\
schema: 1
name: train
title: A program as it is
variant: none
command: [python, train.py, "{seed}", "{run_dir}"]
env: {RATE: "0.5", SIZE: "3"}
seeds: [3]
platforms: [cpu-x86_64]
"""
#: Size 7 fails; ``PAUSE`` is how long a step takes.
PROGRAM = """\
import json, os, random, sys, time
random.seed(int(sys.argv[1]))
rate, size = float(os.environ["RATE"]), int(os.environ["SIZE"])
noise = 0.01 * random.random()
if size == 7:
    sys.exit("seven is too many")
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(6):
        value = noise - (rate - 0.3) ** 2 - 0.01 * (size - 4) ** 2 + 0.01 * step
        log.write(json.dumps({"step": step, "return": value}) + "\\n")
        log.flush()
        time.sleep(float(os.environ.get("PAUSE", "0")))
"""
SPACE = """\
env.RATE: {type: float, low: 0.001, high: 1.0, log: true}
env.SIZE: {type: int, low: 1, high: 8}
"""


def bare_python(folder: Path) -> str:
    """A ``PATH`` whose ``python`` has no packages, so that asking what is in it takes no time."""
    folder.mkdir()
    (folder / "python").symlink_to(Path(sys.executable).resolve())
    return os.pathsep.join([str(folder), os.environ["PATH"]])


def prepare(root: Path, *, recipe: str = RECIPE, program: str = PROGRAM) -> Repository:
    """The program and its recipe in someone's repository."""
    root.mkdir()
    repository = Repository(root)
    repository.git("init", "--quiet")
    (root / ".gitignore").write_text("runs/\nr[0-9]/\nspace.yaml\n")
    (root / "space.yaml").write_text(SPACE)
    repository.write(train_py=program, recipes__train__recipe_yaml=recipe)
    return repository


def tuned(root: Path, *, runs: str = "runs", trials: int | None = 8, **options: Any) -> Study:
    """The study of the program."""
    space = options.pop("space", None) or read_search_space(root / "space.yaml")
    called = {name: options.pop(name) for name in ("workers", "dry_run") if name in options}
    return tune(
        "train",
        Request(backend="local"),
        progress=options.pop("progress", None) or RecordedSweep(),
        asked=Asked(space=tuple(space), trials=trials, **options),
        project=Project.around(root, runs_dir=root / runs),
        **called,
    )


def study_bytes(study: Study) -> bytes:
    return study.path.read_bytes()
