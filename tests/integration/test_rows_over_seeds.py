"""The rows ``several_seeds`` and ``statistics``, PASSED by a real sweep and FAILED by planted ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit.features.sweeps import stats
from reprokit.harness import Request, audit, reproduce
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import Repository
from support.sweep_program import PROGRAM, RECIPE, RecordedSweep, swept

EXPECTED = RECIPE.replace("[3, 4, 6]", "[1, 2, 3, 4, 6]") + "expected: {return: {value: 0.8, atol: 0.1}}\n"


@pytest.fixture
def theirs(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "theirs")
    made.root.mkdir()
    made.git("init", "--quiet")
    made.write(
        train_py=PROGRAM,
        settings_py="RATE = 0.1\n",
        recipes__train__recipe_yaml=EXPECTED,
    )
    (made.root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\nbroken\n")
    return made


def rows_of(theirs, **asked):
    """Both rows of a report over a pair, after the sweep of the recipe's seeds; and the report's folder."""
    swept(theirs.root)
    project = Project.around(theirs.root)
    request = Request(backend="local", **asked)
    report, folder = reproduce("train", request, session=Session(project=project, progress=RecordedSweep()))
    found = {row.id: row for row in report.checks}
    return found["several_seeds"], found["statistics"], folder


def test_a_sweep_passes_both_rows_and_stands_in_the_report(theirs):
    several, statistics, folder = rows_of(theirs, strict=True)
    assert (several.status, several.required) == ("PASSED", True)
    assert (statistics.status, statistics.required) == ("PASSED", True)
    assert statistics.reason.startswith(
        "1 result estimated over 5 seeds; with so many, a 95 % interval contains"
    )
    project = Project.around(theirs.root)
    (group,) = stats.statistics(["train"], project=project).groups
    (metric,) = (one for one in group.metrics if one.metric == "return")
    last, found = metric.of("last"), statistics.evidence["results"]["return"]
    assert {str(seed): value for seed, value in last.values.items()} == found["values"]
    assert (last.intervals[0].low, last.intervals[0].high) == (found["low"], found["high"])
    assert f"95 % interval {found['low']!r} to {found['high']!r} (seed 1: " in (
        (folder / "report.html").read_text()
    )
    assert audit(folder / "report.json", project=project).exit_code == 0


@pytest.mark.slow
def test_an_expected_value_that_the_seeds_do_not_support_is_failed(theirs):
    theirs.write(recipes__train__recipe_yaml=EXPECTED.replace("value: 0.8", "value: 0.2"))
    several, statistics, _ = rows_of(theirs)
    assert (several.status, statistics.status, statistics.required) == ("PASSED", "FAILED", False)
    assert statistics.reason.startswith("return is expected to be 0.2 within 0.1, but 5 seeds support [0.")


@pytest.mark.slow
def test_a_result_over_a_window_is_judged_by_that_window(theirs):
    """The five seeds end near 0.8, and begin, at their best, near 0.95."""
    entry = "{value: 0.95, atol: 0.06, window: best_high}"
    theirs.write(recipes__train__recipe_yaml=EXPECTED.replace("{value: 0.8, atol: 0.1}", entry))
    _, statistics, folder = rows_of(theirs)
    assert (statistics.status, statistics.evidence["results"]["return"]["window"]) == ("PASSED", "best_high")
    rows = {row["id"]: row for row in json.loads((folder / "report.json").read_text())["checks"]}
    assert rows["headline_results"]["status"] == "PASSED"
    assert "return over best_high: mean 0.9" in (folder / "report.html").read_text()
    assert audit(folder / "report.json", project=Project.around(theirs.root)).exit_code == 0


@pytest.mark.slow
def test_a_seed_that_ends_at_no_number_is_failed(theirs):
    theirs.write(train_py=PROGRAM.replace("random.seed(seed)", "random.seed(seed if seed != 4 else 9)"))
    theirs.write(
        train_py=PROGRAM.replace(
            "value -= RATE", "value -= float('nan') if seed == 4 and step == 3 else RATE"
        )
    )
    several, statistics, _ = rows_of(theirs)
    assert (several.status, statistics.status) == ("PASSED", "FAILED")
    assert "return of seed 4 ended at nan" in statistics.reason


@pytest.mark.sample(1)
@pytest.mark.parametrize("logged", ["", '"seed": seed, ', '"env_seed": seed + 1000 + step, '])
def test_a_program_that_ignores_its_seed_fails_both_rows_whatever_it_logs_of_it(theirs, logged):
    deaf = PROGRAM.replace("random.seed(seed)", "random.seed(7)")
    theirs.write(train_py=deaf.replace('"return": value', f'{logged}"return": value'))
    several, statistics, _ = rows_of(theirs)
    assert (several.status, statistics.status) == ("FAILED", "FAILED")
    assert (
        several.reason == "5 seeds gave the same metrics, except for what repeats the seed or is constant: "
        "they are one result"
    )
    assert statistics.reason == "only 1 of 5 seeds are known to have metrics of their own"


@pytest.mark.slow
def test_a_member_that_crashed_fails_both_rows_and_is_a_row_of_the_statistics(theirs):
    theirs.write(recipes__train__recipe_yaml=EXPECTED.replace("4, 6]", "4, 5]"))
    (theirs.root / "broken").touch()
    answer = swept(theirs.root)
    several, statistics, _ = rows_of(theirs)
    assert (several.status, statistics.status) == ("FAILED", "FAILED")
    assert statistics.reason == "seeds [5] did not finish, so an estimate would cover only the others"
    project = Project.around(theirs.root)
    (group,) = stats.statistics([str(answer.path)], project=project).groups
    assert [member.seed for member in group.group.members] == [1, 2, 3, 4]
    reasons = [one.reason for one in group.group.left_out]
    assert reasons == ["seed 5: crashed: the program ended with exit code 1: no five"]


@pytest.mark.slow
def test_without_a_sweep_the_rows_do_not_apply(theirs):
    project = Project.around(theirs.root)
    request = Request(backend="local", strict=True)
    report, folder = reproduce("train", request, session=Session(project=project, progress=RecordedSweep()))
    found = {row.id: row for row in report.checks}
    for name in ("several_seeds", "statistics"):
        assert (found[name].status, found[name].required) == ("SKIPPED", False)
    assert json.loads((folder / "report.json").read_text())["verdict"] == report.verdict
