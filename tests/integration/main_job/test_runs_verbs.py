"""Runs of real training listed, repeated from someone else's folder, and pruned."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

RATE = "training.learning_rate=4e-4"


@pytest.fixture
def theirs(blessed, tmp_path) -> Path:
    """A copy of a finished run, as someone else sends it."""
    folder = next(path.parent for path in blessed.runs if (path.parent / "COMPLETE").is_file())
    return Path(shutil.copytree(folder, tmp_path / "theirs" / folder.name))


def forge(folder: Path, name: str, old: str, new: str) -> None:
    """Change a file of a run, and COMPLETE with it, as someone may who wants to be believed."""
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    data = (folder / name).read_bytes()
    marker = json.loads((folder / "COMPLETE").read_text())
    marker["files"][name] = {"sha256": f"sha256:{hashlib.sha256(data).hexdigest()}", "bytes": len(data)}
    (folder / "COMPLETE").write_text(json.dumps(marker))


def reproduce(study, run: Path | str):
    return study.reprokit("runs", "reproduce", str(run), "--backend", "local", "--json")


@pytest.mark.slow
def test_somebody_elses_run_is_reproduced_from_its_own_folder(study, theirs):
    study.change(study.recipe, "learning_rate: 3e-4", "learning_rate: 4e-4")  # ours is not what runs
    answer = reproduce(study, theirs)
    assert (answer.code, answer.report["verdict"]) == (0, "REPRODUCED"), answer.out + answer.err
    assert answer.report["golden"] == str(theirs)
    assert theirs.name in answer.report["sentence"]
    assert "no container around it" in answer.err
    report = next((study.root / "reports").glob("*/*/report.json"))
    verified = study.reprokit("report", "verify", str(report))
    assert verified.code == 0, verified.out + verified.err
    listed = json.loads(study.reprokit("runs", "list", "--json").out)
    assert [run["verdict"] for run in listed] == ["REPRODUCED", "REPRODUCED"]
    spared = json.loads(study.reprokit("runs", "prune", "--keep", "0", "--yes", "--json").out)
    assert (spared["going"], len(spared["kept"])) == ([], 2)


@pytest.mark.slow
def test_a_modified_run_is_repeated_with_its_overrides(study):
    made = study.reprokit("run", "cartpole_baseline", "--backend", "local", "--set", RATE)
    assert made.code == 0, made.err
    answer = reproduce(study, made.out.strip())
    assert (answer.code, answer.report["verdict"]) == (0, "REPRODUCED"), answer.out + answer.err
    assert RATE in answer.row("unmodified")["reason"]
    assert answer.row("headline_results")["required"] is False
    report = next((study.root / "reports").glob("*/*/report.json"))
    verified = study.reprokit("report", "verify", str(report))
    assert verified.code == 0, verified.out + verified.err


@pytest.mark.slow
def test_forged_numbers_are_not_reproduced_and_the_record_is_named(study, theirs):
    last = json.loads((theirs / "metrics.jsonl").read_text().splitlines()[-1])
    name, value = next((name, value) for name, value in last.items() if name.startswith("loss"))
    forge(theirs, "metrics.jsonl", repr(value), repr(value * 1.5))
    answer = reproduce(study, theirs)
    assert (answer.code, answer.report["verdict"]) == (1, "REGRESSION"), answer.out + answer.err
    assert answer.report["divergence"]["metric"] == name
    assert answer.report["next_command"].startswith("reprokit runs compare ")


def test_another_lock_cannot_make_the_environment_that_the_run_names(study, theirs):
    lock = study.root / "images" / "cpu" / "requirements.lock"
    lock.write_text(lock.read_text() + "# changed since\n")
    answer = study.reprokit("runs", "reproduce", str(theirs), "--backend", "local")
    assert answer.code == 3
    assert "differs from the one that the run's environment was made from" in answer.err
    assert study.runs == []


def test_a_run_of_another_platform_is_no_measure_and_nothing_is_trained(study, theirs):
    forge(theirs, "environment.json", '"avx2": true', '"avx2": false')
    answer = study.reprokit("runs", "reproduce", str(theirs), "--backend", "local")
    assert answer.code == 4
    assert "cpu-x86_64-noavx2" in answer.err
    assert study.runs == []
