"""The project of the how-to pages: a program ``train.py``, and what of it has to be there before a page."""

from __future__ import annotations

import hashlib
import re
import shlex
import subprocess
from pathlib import Path

from support import documented_commands

ROOT = Path(__file__).resolve().parents[2]
GIT = {
    "GIT_AUTHOR_NAME": "a reader",
    "GIT_AUTHOR_EMAIL": "reader@example.org",
    "GIT_COMMITTER_NAME": "a reader",
    "GIT_COMMITTER_EMAIL": "reader@example.org",
}
#: Fits a line; can be stopped, and resumed from what it saved then.
PROGRAM = """\
import argparse, json, os, pathlib, random

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--out", "--logdir", type=pathlib.Path)
parser.add_argument("--lr", type=float, default=0.1)
arguments = parser.parse_args()

random.seed(arguments.seed)
weight = 0.0
with open(arguments.out / "metrics.jsonl" if arguments.out else os.devnull, "w") as log:
    for step in range(20):
        x = random.uniform(-1, 1)
        loss = (weight * x - (2 * x + random.gauss(0, 0.1))) ** 2
        weight += arguments.lr * (2 - weight) * x * x
        record = {"step": step, "loss": loss, "return": weight, "time/update": step + 1}
        log.write(json.dumps(record) + "\\n")
        print("step", step, "loss", loss)
"""
RECIPE = """\
schema: 1
name: train
title: A line fitted to noisy points
variant: none
command: [python, train.py, --seed, "{seed}", --out, "{run_dir}"]
seeds: [1]
platforms: [cpu-x86_64]
"""
STATISTICAL = "statistical: {metric: return, window: last, margin: 0.5, direction: higher}\n"
#: Its returns differ from seed to seed.
WALK = """\
import json, pathlib, random, sys

random.seed(int(sys.argv[1]))
mean = 100 + random.gauss(0, 1)
with open(pathlib.Path(sys.argv[2]) / "metrics.jsonl", "w") as log:
    for step in range(10):
        value = mean + random.gauss(0, 1)
        log.write(json.dumps({"step": step, "return": value}) + "\\n")
"""
WALK_RECIPE = """\
schema: 1
name: walk
title: A number that wanders
variant: none
command: [python, walk.py, "{seed}", "{run_dir}"]
seeds: [0]
platforms: [cpu-x86_64]
statistical:
  {metric: return, window: mean_last_3, margin: 2.0, direction: higher}
"""
_NAME = re.compile(r"_(py|md|csv)$")
TRAIN = "recipes/train/recipe.yaml"


def write(folder: Path, **texts: str) -> None:
    """Write files by name, ``_py`` for ``.py`` and so on, and commit all of them."""
    for name, text in texts.items():
        path = folder / (TRAIN if name == "recipe" else _NAME.sub(r".\1", name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if not (folder / ".git").exists():
        (folder / ".gitignore").write_text("/runs/\n/reports/\n")
        run("git", "init", "--quiet", "--initial-branch", "main", at=folder)
    commit(folder)


def commit(folder: Path) -> None:
    """Commit everything."""
    identity = ("-c", "user.name=a reader", "-c", "user.email=reader@example.org")
    run("git", "add", "--all", at=folder)
    run("git", *identity, "commit", "--quiet", "--allow-empty", "--message", "a change", at=folder)


def tool(*words: str, at: Path, ends: int = 0) -> None:
    """Call reprokit."""
    command = f"{shlex.join(['reprokit', *words])}    # exit code {ends}"
    documented_commands.type_command(command, at, where="before the page", environment={})


def run(*words: str, at: Path) -> None:
    """Another command."""
    subprocess.run(words, cwd=at, check=True)


def a_program(folder: Path) -> None:
    """The program alone, in a repository."""
    write(folder, train_py=PROGRAM)


def a_program_and_a_folder_of_goldens(folder: Path) -> None:
    """The same, and a folder for its goldens."""
    (folder / "golden").mkdir()
    a_program(folder)


def with_recipe(folder: Path, *, seeds: str = "[1]") -> None:
    """The program and its recipe."""
    write(folder, train_py=PROGRAM, recipe=RECIPE.replace("[1]", seeds))


def with_golden(folder: Path, *, seeds: str = "[1]") -> None:
    """The same, with a golden of the first seed."""
    with_recipe(folder, seeds=seeds)
    tool("reproduce", "train", at=folder, ends=4)
    tool("golden", "promote", "train", "--reason", "first golden", at=folder)
    commit(folder)


def with_another_golden(folder: Path) -> None:
    """The same, with a new golden that is not committed, a published log, and runs that are judged."""
    with_golden(folder, seeds="[1, 2]")
    (folder / "train.py").write_text(PROGRAM.replace("default=0.1", "default=0.2"), encoding="utf-8")
    (folder / "progress.csv").write_text("step,Value\n0,0.02\n1,0.08\n", encoding="utf-8")
    run("git", "add", "--all", at=folder)
    tool("reproduce", "train", at=folder, ends=1)


def with_several_seeds(folder: Path) -> None:
    """The program and its recipe, which declares three seeds."""
    with_recipe(folder, seeds="[42, 123, 456]")


def with_runs(folder: Path) -> None:
    """The program, its recipe, and runs of it, the last three of which are equal."""
    with_recipe(folder)
    for number in ("2", "3"):  # after the first pair there is one run more, with another seed
        tool("reproduce", "train", "--repeats", number, at=folder, ends=4)


def with_two_programs(folder: Path) -> None:
    """Two versions of the program, next to each other and as the last two commits."""
    later = {rate: PROGRAM.replace("default=0.1", f"default={rate}") for rate in (0.11, 0.2)}
    write(folder, train_py=PROGRAM, train2_py=later[0.2], recipe=RECIPE + STATISTICAL)
    write(folder, train_py=later[0.11])


def with_a_walk(folder: Path) -> None:
    """A program whose returns are judged by an ensemble, and its recipe."""
    recipe = folder / "recipes/walk/recipe.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text(WALK_RECIPE, encoding="utf-8")
    write(folder, walk_py=WALK)


def with_an_unseeded_program(folder: Path) -> None:
    """The program without its seed, and its recipe."""
    write(folder, train_py=PROGRAM.replace("random.seed(arguments.seed)\n", ""), recipe=RECIPE)


def with_tables(folder: Path) -> None:
    """A recipe that reads a file, and tables next to it."""
    rows = [f"{number},{number * 0.5}" for number in range(40)]
    tables = {"all": rows, "train": rows[:30], "test": rows[30:], "old": rows[:20], "new": rows[1:21]}
    write(folder, **{f"{name}_csv": "\n".join(["id,value", *some, ""]) for name, some in tables.items()})
    (folder / "plays.txt").write_text("To be, or not to be.\n" * 100, encoding="utf-8")
    content = (folder / "all.csv").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    data = f"data:\n  all.csv: {{path: all.csv, sha256: sha256:{digest}, size: {len(content)}}}\n"
    recipe = folder / "recipes/my_recipe/recipe.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text(RECIPE.replace("name: train", "name: my_recipe") + data, encoding="utf-8")
    write(folder, train_py=PROGRAM)


def with_short_trainings(folder: Path) -> None:
    """This repository, with a training of three updates and its golden."""
    run("git", "clone", "--quiet", str(ROOT), str(folder), at=ROOT)
    recipe = folder / "recipes/cartpole_baseline/recipe.yaml"
    text, expected = recipe.read_text(encoding="utf-8"), re.compile(r"^expected:\n(?:  .*\n)+", re.MULTILINE)
    text = re.sub(r"total_timesteps: \d+", "total_timesteps: 12288", text)
    text = re.sub(r"save_interval: \d+", "save_interval: 4096", text)
    recipe.write_text(expected.sub("", text), encoding="utf-8")
    commit(folder)


def with_a_short_training(folder: Path) -> None:
    """This repository, with a training of three updates, its golden and a run of it."""
    with_short_trainings(folder)
    tool("run", "cartpole_baseline", at=folder)


def with_a_stopped_training(folder: Path) -> None:
    """This repository, with a training of three updates, and a run of it that was killed to be resumed."""
    with_short_trainings(folder)
    tool("reproduce", "cartpole_baseline", "--resume", at=folder, ends=1)


def with_a_regression(folder: Path) -> None:
    """A tagged golden, and two commits after it, the last of which moves the numbers."""
    with_golden(folder)
    run("git", "tag", "v1.0", at=folder)
    write(folder, README_md="how to train")
    write(folder, train_py=PROGRAM.replace("default=0.1", "default=0.2"))
