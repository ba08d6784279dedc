"""The gate and the command line: nothing left out is a pass, and no word of a user is a traceback."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reprokit import cli, recipes
from reprokit.errors import ReprokitError
from reprokit.harness import Project, Request, gate_code, verify
from reprokit.pytest_plugin import GoldenFixture
from reprokit.session import Session
from support.fake_backend import write_lines
from support.recorded_progress import RecordedProgress
from tests.unit.attacks.conftest import RECIPE

# --- verify: a project with two recipes, of which "green" always reproduces where it has a golden
_TWO = ("green", "other")


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """A project whose recipes reproduce where they have a golden, and its exit code."""
    for name in _TWO:
        (tmp_path / "recipes" / name).mkdir(parents=True)
        text = RECIPE.replace("name: train", f"name: {name}").replace("[3]", "[3, 4]")
        (tmp_path / "recipes" / name / "recipe.yaml").write_text(text)
        for seed in (3, 4):
            (tmp_path / "golden" / name / "cpu-x86_64" / f"seed-{seed}").mkdir(parents=True)

    def answer(name: str, wanted: Request, *, session: Session) -> Any:
        recipes.load(name, recipes_dir=session.project.recipes_dir)
        golden = session.project.golden_dir / name / "cpu-x86_64" / f"seed-{wanted.seed}"
        return SimpleNamespace(exit_code=0 if golden.is_dir() else 4), None

    module = sys.modules[verify.__module__]
    monkeypatch.setattr(module, "reproduce", answer)
    monkeypatch.setattr(module.fingerprint, "platform_of", lambda record: "cpu-x86_64")

    def code(*names: str, **asked: Any) -> int:
        project = Project.around(tmp_path)
        try:
            found = verify(
                Request(**asked), session=Session(project=project, progress=RecordedProgress()), names=names
            )
        except ReprokitError as error:
            return error.exit_code
        return gate_code(found)

    return code


def _edit(root: Path, old: str, new: str) -> None:
    path = root / "recipes" / "other" / "recipe.yaml"
    path.write_text(path.read_text().replace(old, new))


GATES: dict[str, Callable[[Path], Any]] = {
    "a golden removed": lambda root: shutil.rmtree(root / "golden/other/cpu-x86_64/seed-4"),
    "the first golden removed": lambda root: shutil.rmtree(root / "golden/other/cpu-x86_64/seed-3"),
    "every golden of a recipe removed": lambda root: shutil.rmtree(root / "golden/other"),
    "every golden removed": lambda root: shutil.rmtree(root / "golden"),
    "a recipe removed": lambda root: shutil.rmtree(root / "recipes/other"),
    "every recipe removed": lambda root: [shutil.rmtree(one) for one in (root / "recipes").iterdir()],
    "the folder of recipes removed": lambda root: shutil.rmtree(root / "recipes"),
    "a recipe's file renamed": lambda root: (root / "recipes/other/recipe.yaml").rename(
        root / "recipes/other/recipe.yml"
    ),
    "a recipe's folder renamed": lambda root: (root / "recipes/other").rename(root / "recipes/other2"),
    "a recipe's folder hidden": lambda root: (root / "recipes/other").rename(root / "recipes/.other"),
    "another platform declared": lambda root: _edit(root, "cpu-x86_64", "cuda-h200"),
    "a seed dropped, its golden kept": lambda root: (
        _edit(root, "[3, 4]", "[3]"),
        (root / "golden/other/cpu-x86_64/seed-4/x").write_text(""),
        shutil.rmtree(root / "golden/other/cpu-x86_64/seed-3"),
    ),
    "a seed added": lambda root: _edit(root, "[3, 4]", "[3, 4, 5]"),
    "a recipe that cannot be read": lambda root: _edit(root, "schema: 1", "schema: 9"),
    "a recipe that is empty": lambda root: (root / "recipes/other/recipe.yaml").write_text(""),
    "a recipe behind a dangling link": lambda root: (
        (root / "recipes/other/recipe.yaml").unlink(),
        (root / "recipes/other/recipe.yaml").symlink_to("gone"),
    ),
    "a golden that is a file": lambda root: (
        shutil.rmtree(root / "golden/other/cpu-x86_64/seed-4"),
        (root / "golden/other/cpu-x86_64/seed-4").write_text(""),
    ),
    "a golden of a recipe that never was": lambda root: (root / "golden/third/cpu-x86_64/seed-3").mkdir(
        parents=True
    ),
    "goldens renamed": lambda root: (root / "golden/other").rename(root / "golden/renamed"),
}


@pytest.mark.parametrize("attack", GATES)
def test_a_gate_that_lost_something_is_not_green(gate, tmp_path, attack):
    assert gate() == 0
    GATES[attack](tmp_path)
    assert gate() != 0


@pytest.mark.parametrize("names", [("nowhere",), ("green", "nowhere"), ("",), ("../green",), ("green\n",)])
def test_a_gate_that_is_asked_for_what_is_not_there_is_not_green(gate, names):
    assert gate(*names) != 0


def test_a_gate_that_is_asked_for_a_seed_without_a_golden_is_not_green(gate):
    assert gate(seed=99) != 0


# --- the command line
_BIDI = "\u202egnp.elcyr\u202c"
LINES: list[list[str]] = [
    ["reproduce"],
    ["reproduce", ""],
    ["reproduce", "nowhere"],
    ["reproduce", "../train"],
    ["reproduce", "train\nPASSED"],
    ["reproduce", _BIDI],
    ["reproduce", "\x1b[32mREPRODUCED\x1b[0m"],
    ["reproduce", "a" * 5_000],
    ["reproduce", "train", "--"],
    ["reproduce", "train", "--", "python", "x.py"],
    ["reproduce", "train", "--seed", "-1"],
    ["reproduce", "train", "--seed", "3.0"],
    ["reproduce", "train", "--seed", "NaN"],
    ["reproduce", "train", "--seed", str(2**64)],
    ["reproduce", "train", "--repeats", "1"],
    ["reproduce", "train", "--repeats", "0"],
    ["reproduce", "train", "--repeats", "-2"],
    ["reproduce", "train", "--set", "seeds"],
    ["reproduce", "train", "--set", "=1"],
    ["reproduce", "train", "--set", "checks.relax=[{check: repeatable, because: x}]"],
    ["reproduce", "train", "--set", "nowhere=1"],
    ["reproduce", "train", "--set", "env.MYTOKEN=hunter2hunter2"],
    ["reproduce", "train", "--backend", "nowhere"],
    ["reproduce", "train", "--backend", "docker"],
    ["reproduce", "train", "--vary"],
    ["reproduce", "train", "--timeout", "-1"],
    ["reproduce", "train", "--timeout", "nan"],
    ["reproduce", "train", "--ignore-metric", "*"],
    ["reproduce", "train", "--strict", "--no-strict"],
    ["reproduce", "--", "python", "{rundir}"],
    ["reproduce", "--resume", "--", "python"],
    ["verify", "nowhere"],
    ["verify", "--golden", "nowhere"],
    ["verify", "--golden", "train.py"],
    ["verify", "--golden", "a\nb"],
    ["verify", *["nowhere"] * 4_000],
    ["diff"],
    ["diff", "a"],
    ["diff", "train.py", "train.py"],
    ["diff", "/dev/null", "/dev/null"],
    ["diff", "empty.jsonl", "empty.jsonl"],
    ["diff", "good.jsonl", "nan.jsonl"],
    ["diff", "good.jsonl", "good.jsonl", "--rtol", "nan"],
    ["diff", "good.jsonl", "good.jsonl", "--rtol", "inf"],
    ["diff", "good.jsonl", "good.jsonl", "--atol", "-1"],
    ["diff", "good.jsonl", "good.jsonl", "--metric", "nowhere"],
    ["diff", "good.jsonl", "good.jsonl", "--metric", ""],
    ["diff", "pipe", "good.jsonl"],
    ["report"],
    ["report", "verify", "nowhere"],
    ["report", "verify", "good.jsonl"],
    ["report", "verify", "."],
    ["report", "verify", "empty.json"],
    ["report", "verify", "forged.json"],
    ["report", "verify", "forged.json", "--expect", "REPRODUCED"],
    ["report", "verify", "forged.json", "--expect", "nothing"],
    ["report", "verify", "forged.json", "--max-age", "-1d"],
    ["report", "verify", "forged.json", "--max-age", "1e999d"],
    ["report", "verify", "forged.json", "--commit", "--help"],
    ["report", "verify", "forged.json", "--signer", "nowhere"],
    ["report", "verify", "forged.json", "--signer", "empty.json"],
    ["report", "show", "nowhere"],
    ["golden", "show", "nowhere"],
    ["golden", "promote", "train"],
    ["golden", "promote", "train", "--reason", " "],
    ["golden", "promote", "train", "--reason", "x"],
    ["golden", "promote", "../train", "--reason", "x"],
    ["runs", "show", "nowhere"],
    ["runs", "show", ""],
    ["runs", "show", "../.."],
    ["runs", "compare", "x"],
    ["runs", "compare", ".", "."],
    ["runs", "reproduce", "."],
    ["image", "verify", "nowhere"],
    ["env", "diff", "empty.json", "good.jsonl"],
    ["checkpoint", "show", "pipe"],
    ["run", "nowhere"],
    ["run", "train", "--resume-from", "nowhere"],
    ["diagnose", "nowhere"],
    ["nowhere"],
    ["--nowhere"],
    ["reproduce", "--golden"],
    ["reproduce", "\ud800"],
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = tmp_path / "project"
    (here / "recipes" / "train").mkdir(parents=True)
    (here / "recipes" / "train" / "recipe.yaml").write_text(RECIPE)
    (here / "train.py").write_text("print('trained')\n")
    write_lines(here / "good.jsonl", [{"step": 0, "loss": 1.0}])
    (here / "nan.jsonl").write_text('{"step": 0, "loss": NaN}\n')
    (here / "empty.jsonl").write_text("")
    (here / "empty.json").write_text("{}")
    forged = {"schema": 1, "verdict": "REPRODUCED", "exit_code": 0, "runs": [], "checks": []}
    (here / "forged.json").write_text(json.dumps(forged))
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    return here


@pytest.mark.timeout(60)
@pytest.mark.parametrize("words", LINES, ids=lambda words: ascii(" ".join(words))[:70])
def test_a_line_that_asks_for_nothing_sensible_is_refused_in_words(project, words, capfd):
    if "pipe" in words:
        os.mkfifo(project / "pipe")
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    heard = "".join(capfd.readouterr())
    assert ended.value.code not in {0, None}
    assert "Traceback" not in heard
    assert "a bug in reprokit" not in heard
    assert "\x1b[32mREPRODUCED" not in heard
    assert "\u202e" not in heard
    assert "hunter2" not in heard
    assert "\nPASSED" not in heard
    assert not list((project / "runs").glob("*/*/COMPLETE"))


# --- goldens in a test suite
@pytest.mark.parametrize("update", [False, True])
def test_a_ci_writes_no_golden(tmp_path, monkeypatch, update):
    """Or a test that is tried again passes against what it just wrote."""
    monkeypatch.setenv("CI", "true")
    golden = GoldenFixture(folder=tmp_path, test="t", update=update)
    for loss in (1.0, 1.0):
        with pytest.raises(pytest.fail.Exception, match="NO_GOLDEN"):
            golden.check({"loss": [loss]}, name="a")
    assert not list(tmp_path.rglob("*"))


def test_a_ci_overwrites_no_golden(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.fail.Exception):
        GoldenFixture(folder=tmp_path, test="t", update=False).check({"loss": [1.0]}, name="a")
    monkeypatch.setenv("CI", "true")
    for _ in range(2):
        with pytest.raises(pytest.fail.Exception, match=r"REGRESSION|STALE_GOLDEN"):
            GoldenFixture(folder=tmp_path, test="t", update=True).check({"loss": [2.0]}, name="a")


FIXTURES: dict[str, Any] = {
    "nothing": [],
    "no columns": {},
    "empty columns": {"loss": []},
    "empty records": [{}],
    "a number": 3,
    "text": "nowhere.jsonl",
    "bytes": b"x",
    "names that are no text": [{1: 2}],
    "columns of different lengths": {"a": [1], "b": [1, 2]},
    "a set": [{"a": {1}}],
    "an object": [{"a": object()}],
}


@pytest.mark.parametrize("attack", FIXTURES)
def test_metrics_that_say_nothing_are_no_golden_of_a_test(tmp_path, monkeypatch, attack):
    monkeypatch.delenv("CI", raising=False)
    for _ in range(2):  # the second would be compared with what the first wrote
        with pytest.raises((pytest.fail.Exception, ReprokitError)):
            GoldenFixture(folder=tmp_path, test="t", update=False).check(FIXTURES[attack])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, [], {}])
def test_metrics_without_one_value_are_never_equal_to_a_golden_of_a_test(tmp_path, monkeypatch, value):
    monkeypatch.delenv("CI", raising=False)
    for _ in range(2):
        with pytest.raises((pytest.fail.Exception, ReprokitError)):
            GoldenFixture(folder=tmp_path, test="t", update=False).check([{"loss": value}])
