"""The wheel with no extra, with each, and with those that go together: its size, what works, what is told."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import how_to_project
from support.wheel_environments import environment_with, sizes_in

MOST_PACKAGES, MOST_MB = 12, 40.0  # of the base, with numpy itself, and without its files
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

#: Command → how it ends where the extras that follow are installed.
COMMANDS = {
    "stats train": ("statistics", 0),
    "verify --html page.html": ("html", 0),
    "image lock mine --dependencies requirements.txt": ("environments", 0),
    "image list": ("containers", 0),
    "data show table.parquet": ("data", 0),
    "runs push {run} memory://pushed": ("remote", 0),
    "tune train --space space.yaml --trials 1 --sampler tpe": ("tune", 0),
    "report show {report} --pdf page.pdf": ("pdf", 4),  # of the runs before there was a golden
    "sweep train --on slurm": ("slurm", 3),
    "sweep train --on ray": ("ray", 3),
}
WRITE_TABLE = """
import pyarrow, pyarrow.parquet
pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), "table.parquet")
"""
ALONE = ("statistics", "html", "pdf", "environments", "containers", "gpu", "data", "remote", "tune", "slurm")
TOGETHER = ("containers,environments", "html,statistics", "all")
OF_ALL = ("containers", "environments", "gpu", "html", "pdf", "remote", "statistics")


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        return self.err.strip().rpartition("\n")[2]


def line_of(extra: str) -> str:
    return f"pip install 'reprokit-verify[{extra}]'"


def say(environment: Path, words: str, folder: Path) -> Said:
    """What the tool of an environment says, in a folder."""
    run = next((one.name for one in sorted(folder.glob("runs/train/*-seed1-1"))), "")
    report = next((f"reports/train/{one.name}" for one in sorted(folder.glob("reports/train/*"))), "")
    command = [str(environment / "bin" / "reprokit"), *shlex.split(words.format(run=run, report=report))]
    variables = {**os.environ, **how_to_project.GIT, "REPROKIT_CACHE": str(folder.parent / "cache")}
    variables.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=900
    )
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def having(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """An environment with these extras, made once."""
    made: dict[str, Path] = {}

    def have(extras: str) -> Path:
        if extras not in made:
            folder = tmp_path_factory.mktemp(extras.replace(",", "-") or "base")
            made[extras] = environment_with(extras, wheel=wheel, folder=folder)
        return made[extras]

    return have


@pytest.fixture(scope="module")
def theirs(having: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose recipe has a golden, made with nothing but the base."""
    folder = tmp_path_factory.mktemp("theirs") / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    recipe = how_to_project.RECIPE + "env: {RATE: '0.1'}\n"
    files = {"train_py": how_to_project.PROGRAM, "recipe": recipe, "requirements.txt": "six\n"}
    files["space.yaml"] = "env.RATE: {type: float, low: 0.1, high: 0.2}\n"
    (folder / "table.parquet").write_bytes(b"PAR1")
    how_to_project.write(folder, **files)
    base = having("")
    assert say(base, "reproduce train", folder).code == 4  # no golden yet
    assert say(base, "golden promote train --reason first", folder).code == 0
    how_to_project.write(folder)
    return folder


@pytest.mark.parametrize("extras", ["", *ALONE, "ray", *TOGETHER])
def test_no_combination_is_larger_than_the_documentation_says(having, project, extras):
    sizes = sizes_in(having(extras))
    beside = (sum(sizes.values()) - sizes["numpy"]) / 1e6
    page = (project / "docs/reference/dependencies.md").read_text()
    name = ", ".join(f"`{one}`" for one in extras.split(",")) if extras else "none"
    row = re.search(rf"^\| {name} \| (\d+) \| [\d.]+ \| ([\d.]+) \|$", page, re.MULTILINE)
    assert row, f"the table has no row of {name}"
    assert len(sizes) <= int(row[1]) * 1.25
    assert beside <= float(row[2]) * 1.25
    if not extras:
        assert len(sizes) <= MOST_PACKAGES, sorted(sizes)
        assert beside <= MOST_MB, sizes


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_whose_extra_is_missing_ends_with_3_and_one_line(having, theirs, command):
    said = say(having(""), command, theirs)
    assert said.code == 3, said
    assert said.last == f"Hint: {line_of(COMMANDS[command][0])}"


@pytest.mark.parametrize("extras", [*ALONE, *TOGETHER])
def test_each_combination_brings_what_its_commands_need(having, theirs, extras):
    if "data" in extras:
        subprocess.run([having(extras) / "bin" / "python", "-c", WRITE_TABLE], cwd=theirs, check=True)
    brought = OF_ALL if extras == "all" else tuple(extras.split(","))
    for command, (extra, code) in COMMANDS.items():
        said = say(having(extras), command, theirs)
        if extra in brought:
            assert (said.code, line_of(extra) in said.err) == (code, False), (command, said)
        else:
            assert (said.code, said.last) == (3, f"Hint: {line_of(extra)}"), (command, said)


def test_a_row_that_needs_an_extra_is_not_judged_without_it(having, theirs, tmp_path):
    full, folder = having("environments"), tmp_path / "project"
    subprocess.run(["git", "clone", "--quiet", theirs, folder], check=True)
    recipe = (folder / how_to_project.TRAIN).read_text().replace("variant: none", "variant: mine")
    assert say(full, "image lock mine --dependencies requirements.txt", folder).code == 0
    how_to_project.write(folder, recipe=recipe)
    made = say(full, "reproduce train --backend local", folder)
    assert made.code == 0, made
    runs = " ".join(str(one) for one in sorted((folder / "runs/train").glob("*-seed1-[12]"))[-2:])

    without, judged = (say(one, f"report show {runs} --json", folder) for one in (having(""), full))

    assert (without.code, json.loads(without.out)["verdict"]) == (4, "UNJUDGED")
    assert (judged.code, json.loads(judged.out)["verdict"]) == (0, "REPRODUCED")
    row = next(one for one in json.loads(without.out)["checks"] if one["id"] == "versions_locked")
    assert (row["status"], row["remedy"]) == ("ERROR", line_of("environments"))
