"""What versions left that ran every program in Python 3.11 is judged as they judged it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.capture import probe
from reprokit.capture.read_record import read_record
from reprokit.core import fingerprint
from reprokit.harness import Project, Request, judge_again
from reprokit.harness.running.numbers import recipe_digests
from reprokit.runs import list_all

PAST = Path(__file__).resolve().parents[2] / "data" / "python-3.11"
VERDICTS = ("REPRODUCED", "REGRESSION", "NONDETERMINISTIC")


@pytest.fixture(params=VERDICTS)
def past(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    """The project of then, with the runs of one verdict."""
    root = tmp_path / "past"
    shutil.copytree(PAST, root, ignore=shutil.ignore_patterns(*VERDICTS))
    shutil.copytree(PAST / request.param, root, dirs_exist_ok=True)
    return Project.around(root)


def test_runs_are_judged_as_they_were(past: Project) -> None:
    told = json.loads((past.root / "report.json").read_text())
    pair = [past.root / Path(run).relative_to("/project") for run in told["runs"]]
    report = judge_again(pair, Request(), project=past)
    assert (str(report.verdict), report.exit_code) == (told["verdict"], told["exit_code"])
    then = {row["id"]: row["status"] for row in told["checks"]}
    assert {row.id: str(row.status) for row in report.checks if row.id in then} == then


def test_a_recipe_that_names_no_python_stands_for_the_same_numbers(past: Project) -> None:
    recipe = recipes.load("train", recipes_dir=past.recipes_dir)
    today = recipe_digests(recipe, files=())
    for run in list_all(past.runs_dir):
        recorded = json.loads((run / "run.json").read_text())["digests"]
        assert (today["recipe"], today["config"]) == (recorded["recipe"], recorded["config"])


def test_what_is_recorded_of_a_python_by_now_makes_no_golden_stale() -> None:
    (file,) = PAST.glob("golden/*/*/*/provenance.json")
    then = read_record(file)
    of_then = then["inside"]["python"]
    same_release = {name: of_then[name] for name in ("version", "minor", "compiler")}
    by_now = {**probe.collect(with_torch=False)["python"], **same_release}
    now = {**then, "inside": {**then["inside"], "python": by_now}}
    assert fingerprint.same(then, now) is ("free_threaded" not in by_now)
