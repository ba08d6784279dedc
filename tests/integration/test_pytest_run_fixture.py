"""``reprokit_run`` in someone else's test suite: what it gives, and that no empty result passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_recipe import PROGRAM, RECIPE, Repository

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
NO_PLUGINS = ("-p", "no:reprokit", "-p", "reprokit.pytest_plugin", "-p", "no:cacheprovider")


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch):
    """Run tests in a process of its own, next to a program and its recipe."""
    project = pytester.path / "project"
    (project / "tests").mkdir(parents=True)
    repository = Repository(project)
    repository.git("init", "--quiet")
    repository.write(recipes__train__recipe_yaml=RECIPE, train_py=PROGRAM, settings_py="RATE = 0.5\n")
    (project / "click.py").write_text("raise SystemExit('not the one that the tool means')\n")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def run(text: str) -> pytest.RunResult:
        (project / "tests" / "test_training.py").write_text(text)
        return pytester.runpytest_subprocess(*NO_PLUGINS, "project/tests")

    return run


def test_a_recipe_and_a_command_give_folder_metrics_and_record(suite, pytester):
    result = suite("""
import sys
import pytest

COMMAND = [sys.executable, "train.py", "{seed}", "{run_dir}"]

def test_recipe(reprokit_run, tmp_path):
    run = reprokit_run("train", seed=3)
    assert run.folder.is_relative_to(tmp_path)
    assert run.record["seed"] == 3
    assert len(run.metrics) == 4
    assert run.series("loss") == [record["loss"] for record in run.metrics]
    assert "step 3 loss" in run.output
    with pytest.raises(Exception, match="no record has 'lose'"):
        run.series("lose")

def test_command(reprokit_run):
    first, other = (reprokit_run(COMMAND, seed=seed).series("loss") for seed in (3, 4))
    assert len(first) == 4 and first != other
""")
    result.assert_outcomes(passed=2)
    assert not (pytester.path / "project" / "runs").exists()  # all of it lies in the test's folder


def test_a_run_that_fails_is_an_error_with_the_end_of_its_log(suite):
    result = suite("""
import sys
import pytest
from reprokit.errors import CannotRunError, MetricsError, UsageError

def python(text):
    return [sys.executable, "-c", text, "{run_dir}", "{seed}"]

def test_crash(reprokit_run):
    with pytest.raises(CannotRunError, match="ValueError: planted"):
        reprokit_run(python("raise ValueError('planted')"))

def test_exit_code(reprokit_run):
    with pytest.raises(CannotRunError):
        reprokit_run(python("raise SystemExit(3)"))

def test_no_metrics(reprokit_run):
    run = reprokit_run(python("print('hello')"))
    with pytest.raises(MetricsError, match="no metric"):
        run.metrics

def test_no_such_recipe(reprokit_run):
    with pytest.raises(UsageError, match="nowhere"):
        reprokit_run("nowhere")

def test_unhandled(reprokit_run):
    reprokit_run(python("raise ValueError('planted')"))
""")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["*ValueError: planted*"])


@pytest.mark.slow
def test_a_verdict_that_was_not_expected_fails_the_test(suite, pytester):
    result = suite("""
import sys

COMMAND = [sys.executable, "train.py", "{seed}", "{run_dir}"]
OTHER = [sys.executable, "-c", '''
import json, os, sys
with open(sys.argv[1] + "/log.jsonl", "w") as log:
    for step in range(3):
        log.write(json.dumps({"step": step, "loss": os.urandom(1)[0] + os.urandom(8)[0] / 256}) + "\\\\n")
''', "{run_dir}", "{seed}"]

def test_repeats(reprokit_run):
    answer = reprokit_run.reproduce(COMMAND, seed=3)
    assert answer.report.verdict == "REPEATABLE"
    assert len(answer.runs) == 2
    assert answer.runs[0].metrics == answer.runs[1].metrics

def test_no_golden(reprokit_run):
    reprokit_run.reproduce("train", expect="NO_GOLDEN")

def test_no_golden_is_no_pass(reprokit_run):
    reprokit_run.reproduce("train")

def test_differs(reprokit_run):
    reprokit_run.reproduce(OTHER)

def test_crash(reprokit_run):
    reprokit_run.reproduce([sys.executable, "-c", "raise ValueError('planted')", "{run_dir}", "{seed}"])
""")
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(["*expected REPRODUCED or REPEATABLE. got NO_GOLDEN*"])
    result.stdout.fnmatch_lines(["*expected REPRODUCED or REPEATABLE. got NONDETERMINISTIC*"])
    result.stdout.fnmatch_lines(["*ValueError: planted*"])
