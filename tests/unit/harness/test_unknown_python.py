"""A program whose Python is not known is judged by its numbers, and no environment is invented for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.core.checklist import Verdict
from reprokit.core.records import RunSpec
from reprokit.core.verdicts.rows import Status
from reprokit.execution.local import LocalBackend
from reprokit.harness.running.programs.environment_inside import inside_of
from tests.support.command_recipe import PROGRAM, RECIPE, Repository

TWO_COMMANDS = 'echo begin\nexec python train.py "$1" "$2"\n'


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "theirs")
    made.root.mkdir()
    made.git("init", "--quiet")
    recipe = RECIPE.replace("[python, train.py,", "[sh, train.sh,")
    made.write(train_py=PROGRAM, settings_py="RATE = 0.1\n", recipes__train__recipe_yaml=recipe)
    (made.root / "train.sh").write_text(TWO_COMMANDS)
    (made.root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\n")
    made.commit()
    return made


def without_packages(folder: Path) -> str:
    """A Python that has no package at all."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return str(folder / "bin" / "python")


def test_a_mismatch_is_no_regression_and_no_stale_golden(repository):
    first = repository.reproduce()
    assert first.verdict == Verdict.NO_GOLDEN
    record = json.loads((Path(first.runs[0]) / "environment.json").read_text())
    assert "python" not in record["inside"]
    assert "packages" not in record["inside"]
    assert record["missing"]["inside.python"].endswith("train.sh holds more than one command")
    repository.promote(first)
    again = repository.reproduce()
    assert again.verdict == Verdict.REPRODUCED, again.sentence
    assert "in an environment that nothing pins, and whose Python is not known" in again.sentence
    rows = {row.id: row.reason for row in again.checks}
    assert "is not known" in rows["environment_recorded"]
    assert "is not known" in rows["environment_compatible"]
    repository.write(settings_py="RATE = 0.2\n")
    changed = repository.reproduce()
    assert changed.verdict == Verdict.UNJUDGED
    assert "whether the environment computes the same is not known: which Python" in changed.sentence
    assert not [one for one in changed.environment_diff if one["can_change_numbers"] != "no"]


def test_a_known_golden_and_an_unknown_run_have_no_invented_difference(repository):
    repository.promote(repository.reproduce())
    [provenance] = repository.root.glob("golden/train/*/seed-3/provenance.json")
    told = json.loads(provenance.read_text())
    told["environment"]["inside"] |= {"python": {"version": "3.12.1"}, "packages": {"numpy": "2.0"}}
    told["environment"]["missing"] = {}
    provenance.write_text(json.dumps(told))
    repository.write(settings_py="RATE = 0.2\n")
    report = repository.reproduce()
    assert report.verdict == Verdict.UNJUDGED
    assert "whether the environment computes the same is not known" in report.sentence
    assert not [one for one in report.environment_diff if one["field"].startswith("inside.")]


def test_a_python_without_a_package_is_recorded_as_one(repository, tmp_path):
    recipe = RECIPE.replace("[python,", f"[{without_packages(tmp_path / 'other')},")
    repository.write(recipes__train__recipe_yaml=recipe)
    report = repository.reproduce()
    assert report.verdict == Verdict.NO_GOLDEN, report.sentence
    record = json.loads((Path(report.runs[0]) / "environment.json").read_text())
    assert record["inside"]["packages"] == {}
    assert record["missing"]["inside.packages"] == "its Python has no package"
    rows = {row.id: row for row in report.checks}
    assert rows["environment_recorded"].status == Status.PASSED, rows["environment_recorded"].reason


def test_behind_a_wrapper_its_own_python_is_asked(tmp_path):
    python = without_packages(tmp_path / "other")
    command = ("env", "OMP_NUM_THREADS=3", python, "train.py")
    spec = RunSpec(recipe="r", run_id="1", seed=0, device="cpu", command=command, inherit_environment=True)
    found = inside_of(spec, backend=LocalBackend())
    assert "numpy" not in found["packages"], "the tool's own Python has it"
    assert found["variables"]["OMP_NUM_THREADS"] == "3"
