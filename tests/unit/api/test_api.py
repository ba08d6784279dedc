"""`reprokit.api`: the names that others build on, and what each gives for a program that really ran."""

from __future__ import annotations

import doctest
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from reprokit import api
from reprokit.api import extensions as of_extensions
from reprokit.api import options, testing

DATA = Path(__file__).parents[2] / "data"
NAMES = Path(__file__).parent / "names.txt"
PROGRAM = """\
import json, random, sys
random.seed(int(sys.argv[1]))
with open(sys.argv[2] + "/metrics.jsonl", "w") as log:
    for step in range(5):
        log.write(json.dumps({"step": step, "loss": random.random()}) + "\\n")
"""
RECIPE = """\
schema: 1
name: train
title: Five random numbers
variant: none
command: [python, train.py, "{seed}", "{run_dir}"]
seeds: [1]
platforms: [cpu-x86_64, cpu-aarch64]
"""
COMMAND = [sys.executable, "train.py", "{seed}", "{run_dir}"]


def test_no_name_is_removed_or_added_without_its_line_in_the_list() -> None:
    """A name that leaves this list breaks the programs of others: warn for one release before."""
    assert sorted(api.__all__) == NAMES.read_text().split()


def test_no_name_of_extensions_or_their_suites_is_removed_or_added_without_its_line_either() -> None:
    said = [line.split(": ") for line in (NAMES.parent / "names_for_extensions.txt").read_text().splitlines()]
    assert {module: names.split() for module, names in said} == {
        "extensions": sorted(of_extensions.__all__),
        "testing": sorted(testing.__all__),
    }


def test_an_old_name_warns_with_what_to_use_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(api._OLD, "judge", "reproduce")
    with pytest.warns(DeprecationWarning, match=r"use reprokit\.api\.reproduce"):
        assert api.judge is api.reproduce


@pytest.mark.parametrize("name", api.__all__)
def test_every_name_is_there_and_says_what_it_is(name: str) -> None:
    value = getattr(api, name)
    assert value.__doc__
    assert not value.__name__.startswith("_")


def test_a_name_that_is_not_listed_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Request'"):
        _ = api.Request


def test_importing_the_api_imports_no_package_beyond_the_standard_library() -> None:
    code = "import sys, reprokit.api; print('numpy' in sys.modules, 'click' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False", "False"]


def test_options_are_those_of_the_request_so_that_none_is_forgotten() -> None:
    of_verbs = {"command", "gate", "against_golden", "rounding", "profile_step", "stress"}
    known = set(options.Request.__dataclass_fields__) - of_verbs
    assert set(api.RunOptions.__annotations__) == known


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "train.py").write_text(PROGRAM)
    recipe = folder / "recipes" / "train" / "recipe.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text(RECIPE)
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.fixture
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project)
    return project


@pytest.fixture(scope="module")
def report(project: Path) -> Iterator[api.Report]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        yield api.reproduce(COMMAND, seed=3)


def test_a_program_is_reproduced_and_its_report_read_back(report: api.Report, inside: Path) -> None:
    assert (report.verdict, report.exit_code, report.passed) == (api.Verdict.REPEATABLE, 0, True)
    assert report.row("repeatable").status is api.Status.PASSED
    assert api.list_reports() == [report.folder]
    read = api.read_report(report.folder)
    assert read.data == report.data
    assert read.rows == report.rows
    assert api.check_report(report.folder).follows


def test_the_report_names_the_call_that_made_it(report: api.Report) -> None:
    assert report.data["command"].startswith("reprokit.api.reproduce([")
    assert report.data["command"].endswith("seed=3)")


def test_a_run_gives_its_records_and_what_is_known_of_it(report: api.Report, inside: Path) -> None:
    run = api.read_run(report.runs[0])
    assert (run.seed, run.complete, run.outcome) == (3, True, api.Outcome.COMPLETED)
    assert [record["step"] for record in run.records()] == [0, 1, 2, 3, 4]
    assert run.environment["host"]
    assert api.list_runs(run.recipe)[:2] == list(report.runs)
    assert api.read_run(run.run_id).path == run.path.resolve() or api.read_run(run.run_id).path == run.path


def test_a_changed_run_is_not_complete_and_its_report_does_not_stand(inside: Path) -> None:
    made = api.reproduce(COMMAND, seed=4)
    log = next(made.runs[1].rglob("metrics.jsonl"))
    text = log.read_text()
    log.write_text(text.replace("0.", "1.", 1))
    assert not api.read_run(made.runs[1]).complete
    found = api.check_report(made.folder)
    assert (found.follows, found.exit_code) == (False, 1)


def test_two_runs_are_compared_and_the_first_difference_is_named(report: api.Report, inside: Path) -> None:
    assert api.diff(*report.runs).identical
    other = api.run(COMMAND, seed=5)
    found = api.diff(report.runs[0], other.path)
    assert (found.identical, found.exit_code) == (False, 1)
    assert found.divergence is not None
    assert (found.divergence.step, found.divergence.metric) == (0, "loss")


def test_records_become_tables(report: api.Report, inside: Path) -> None:
    run = api.read_run(report.runs[0])
    table = run.to_pandas()
    assert isinstance(table, pd.DataFrame)
    assert list(table["loss"]) == [record["loss"] for record in run.records()]
    assert list(report.to_pandas().columns) == ["id", "status", "required", "title", "reason", "remedy"]


def test_a_library_that_is_missing_is_named_with_the_line_that_installs_it(
    report: api.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(api.MissingExtraError, match="pip install polars"):
        report.to_polars()


def test_a_notebook_shows_the_verdict_and_hostile_names_stay_text(report: api.Report) -> None:
    assert "REPEATABLE" in report._repr_html_()
    hostile = api.GateEntry(recipe="<script>alert(1)</script>", exit_code=3, error="<b>no</b>")
    shown = api.Gate(exit_code=3, entries=(hostile,))._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_recipes_and_goldens_are_listed_and_read(inside: Path) -> None:
    assert api.list_recipes() == ["train"]
    assert api.load_recipe("train", overrides=["seeds=[4]"]).seeds == (4,)
    assert api.list_goldens() == []
    with pytest.raises(api.GoldenError, match="no"):
        api.read_golden(inside / "golden" / "train" / "cpu-x86_64" / "seed-1")


def test_two_commands_are_compared(inside: Path) -> None:
    found = api.compare_commands([*COMMAND[:2], "1", "{run_dir}"], [*COMMAND[:2], "2", "{run_dir}"])
    assert (found.answer, found.exit_code) == ("different", 1)
    assert found.first is not None
    assert found.first["metric"] == "loss"
    assert found.folder is not None
    assert api.read_comparison(found.folder).data == found.data


def test_what_is_typed_wrongly_is_refused_before_anything_runs(inside: Path) -> None:
    with pytest.raises(api.UsageError, match="no option 'sead'"):
        api.reproduce(COMMAND, sead=3)  # type: ignore[call-arg]
    with pytest.raises(api.UsageError, match="a list"):
        api.reproduce(COMMAND, ignore="loss")
    with pytest.raises(api.UsageError, match="is no command"):
        api.reproduce([])
    with pytest.raises(api.RecipeError):
        api.reproduce("no-such-recipe")
    with pytest.raises(api.UsageError, match="a list"):
        api.diff("a", "b", metrics="loss")


PUBLIC = [
    *(("reprokit.api", name) for name in api.__all__),
    *(("reprokit.api.extensions", name) for name in of_extensions.__all__),
    *(("reprokit.api.testing", name) for name in testing.__all__),
]
#: Examples that take a cluster, or a git repository, which the next test has.
NOT_RUN = {"check_place", "verify"}


@pytest.fixture
def past(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with runs, a golden and a report that a past version left, and a recipe beside them."""
    root = tmp_path / "past"
    shutil.copytree(DATA / "schema-1", root)
    (root / "train.py").write_text(PROGRAM)
    recipe = root / "recipes" / "train" / "recipe.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text(RECIPE)
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return root


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_every_public_docstring_has_an_example_that_gives_what_it_shows(
    module: str, name: str, past: Path
) -> None:
    """As after ``from reprokit.api import *``, and the same of the module itself."""
    modules = [api, of_extensions, importlib.import_module(module)]
    names = {one: getattr(home, one) for home in modules for one in home.__all__}
    finder = doctest.DocTestFinder(recurse=False)
    (found,) = finder.find(names[name], name, module=False, globs=names)
    assert found.examples
    if name in NOT_RUN:
        return
    told: list[str] = []
    done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found, out=told.append)
    assert done.failed == 0, "".join(told)
    assert done.attempted


@pytest.mark.parametrize("module", ["statistics", "verbs"])
def test_examples_in_docstrings_give_what_they_show(
    module: str, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    of_module = importlib.import_module(f"reprokit.api.{module}")
    found = doctest.testmod(of_module, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted >= 6


def test_every_error_has_the_exit_code_of_the_command_line() -> None:
    assert [api.UsageError.exit_code, api.CannotRunError.exit_code, api.CannotJudgeError.exit_code] == [
        2,
        3,
        4,
    ]


@pytest.mark.parametrize(("of", "estimate"), [("mean", 4.5), ("iqm", 4.5)])
def test_intervals_say_what_they_cover(of: str, estimate: float) -> None:
    found = api.bootstrap_interval([float(value) for value in range(10)], of=of)
    assert found.estimate == estimate
    assert found.coverage
    with pytest.raises(api.UsageError, match="no bootstrap"):
        api.bootstrap_interval([1.0, 2.0], of="median")
