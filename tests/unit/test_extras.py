"""Without an extra a verb ends with 3 and a row is not judged, with the line that helps: nothing passes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from reprokit import checks, extras
from reprokit.core.evidence import Evidence
from reprokit.core.verdicts.rows import Status, passed
from reprokit.data import downloading
from reprokit.errors import EngineError, MissingExtraError
from reprokit.harness.running.environments.environment import choose_backend
from support import how_to_project
from support.without import WINDOWS, answers

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(lines) -> set[str]:
    return {plain(Requirement(line).name) for line in lines}


def test_each_extra_brings_what_its_line_promises_and_the_base_brings_none_of_it():
    optional = PROJECT["optional-dependencies"]
    base = requirements(PROJECT["dependencies"])
    for extra, package in extras.EXTRAS.values():
        assert plain(package) in requirements(optional[extra])
        assert plain(package) not in base
    (everything,) = map(Requirement, optional["all"])
    assert everything.extras >= {extra for extra, _ in extras.EXTRAS.values()}


def metrics_file(path: Path, loss: float) -> str:
    path.write_text(json.dumps({"step": 0, "loss": loss}) + "\n")
    return str(path)


def test_a_verb_whose_extra_is_missing_ends_with_3_and_the_line_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("numpy\n")
    same, other = metrics_file(tmp_path / "a.jsonl", 0.5), metrics_file(tmp_path / "b.jsonl", 0.25)
    asked = {
        "statistics": ["stats", "train"],
        "containers": ["image", "list"],
        "environments": ["image", "lock", "own", "--from", "requirements.txt"],
        "pdf": ["report", "show", same, "--pdf", "report.pdf"],
    }
    commands = [*asked.values(), ["diff", same, same], ["diff", same, other], ["golden", "list"]]

    found = answers(",".join(extras.EXTRAS), commands)

    for extra, (code, _, err) in zip(asked, found, strict=False):
        assert code == 3
        assert err.splitlines()[-1] == f"Hint: pip install 'reprokit-verify[{extra}]'"
    assert [code for code, _, _ in found[len(asked) :]] == [0, 1, 0]


def test_a_recipe_without_a_lock_runs_with_no_extra(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    how_to_project.write(tmp_path, train_py=how_to_project.PROGRAM, recipe=how_to_project.RECIPE)

    [(code, out, err)] = answers(",".join(extras.EXTRAS), [["reproduce", "train"]])

    assert (code, "verdict: NO_GOLDEN" in out) == (4, True), err


def test_an_environment_is_locked_with_the_extra_environments_alone(small_project, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(small_project.wheels))
    (tmp_path / "requirements.txt").write_text("tiny\n")
    others = ",".join(name for name, (extra, _) in extras.EXTRAS.items() if extra != "environments")

    [(code, _, err)] = answers(others, [["image", "lock", "own", "--dependencies", "requirements.txt"]])

    assert code == 0, err
    assert (tmp_path / "images/own/requirements.lock").read_text().count("tiny==") == 1


def test_what_windows_lacks_is_told_and_files_are_compared_and_judged_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    same, other = metrics_file(tmp_path / "a.jsonl", 0.5), metrics_file(tmp_path / "b.jsonl", 0.25)
    report = ROOT / "tests" / "data" / "schemas" / "report.json" / "plain-command-2510d90.json"
    commands = [
        ["diff", same, same],
        ["diff", same, other],
        ["report", "show", str(report), "--json"],
        ["stats", "nothing"],
        ["run", "--", sys.executable, "-c", "pass"],
    ]

    equal, different, shown, stats, run = answers(WINDOWS, commands)

    assert (equal[0], different[0]) == (0, 1)
    assert json.loads(shown[1])["verdict"] == json.loads(report.read_text())["verdict"]
    assert stats[0] == 2  # as elsewhere: there is no such recipe
    assert run[0] == 3
    assert "runs are made on Linux and macOS alone" in run[2]


GOLDEN = """
import sys
from pathlib import Path
from support import how_to_project
from support.without import WINDOWS, block
block((WINDOWS,))
from reprokit.core.tolerance import Tolerances
from reprokit.pytest_plugin import golden_file
how = {"folder": Path(sys.argv[1]), "stem": "t", "tolerances": Tolerances(), "update": False}
for loss in (0.5, 0.5, 0.25):
    found = golden_file.judge([{"loss": loss}], **how)
    print(found.split(":")[0])
"""


def test_the_golden_fixture_needs_nothing_that_windows_lacks(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    path = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "PATH": "/usr/bin"}
    words = [sys.executable, "-c", GOLDEN, str(tmp_path / "goldens")]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=path, timeout=120)
    assert done.stdout.splitlines() == ["NO_GOLDEN", "", "REGRESSION"]


def lacking(*names: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = extras.is_installed
    monkeypatch.setattr(extras, "is_installed", lambda name: name not in names and real(name))


@pytest.fixture
def check():
    return SimpleNamespace(
        ID="statistics",
        TITLE="t",
        ORDER=1,
        ADVISORY=False,
        NEEDS_RECIPE=False,
        check=lambda _: passed("good"),
    )


def test_a_row_that_needs_what_is_not_installed_is_not_judged(check, monkeypatch):
    lacking("scipy", monkeypatch=monkeypatch)
    evidence = Evidence(recipe=None, platform="cpu-x86_64", runs=())
    told = {"statistics": ("this needs the package scipy", extras.install_line("statistics"))}

    def needs_scipy(_evidence):
        extras.must_have("scipy")
        return passed("good")

    assert checks.run_all(evidence, checks=[check])[0].status is Status.PASSED
    for row in (
        checks.run_all(replace(evidence, missing_extras=told), checks=[check])[0],
        checks.run_all(evidence, checks=[SimpleNamespace(**{**vars(check), "check": needs_scipy})])[0],
    ):
        assert row.status is Status.ERROR
        assert row.required
        assert row.remedy == "pip install 'reprokit-verify[statistics]'"


def test_without_the_docker_sdk_no_engine_is_there_and_the_line_is_told(monkeypatch):
    lacking("docker", monkeypatch=monkeypatch)
    assert choose_backend("") == "local"
    with pytest.raises(EngineError, match=r"docker, which is not installed.*reprokit-verify\[containers\]"):
        choose_backend("docker")


def test_a_file_behind_http_names_the_extra(tmp_path, monkeypatch):
    lacking("requests", monkeypatch=monkeypatch)
    with pytest.raises(MissingExtraError, match=r"reprokit-verify\[remote\]"):
        downloading._opened("http://127.0.0.1:9/x", offset=0)
