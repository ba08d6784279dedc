"""`verify` stops a pair of runs where both differ from the golden; nothing takes them for finished runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.study_project import Study, make_study

pytestmark = pytest.mark.slow
UPDATES, FAULTY = 20, 2  # many enough that a run which begins late is stopped before the other has ended
UPDATE = "        record = update(model, adam, batch, settings)\n"
FAULT = f"        if run.trace.updates == {FAULTY - 1}:\n            adam.mean *= 2\n{UPDATE}"


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study with a golden of twenty updates, and since then a fault in the second."""
    study = make_study(tmp_path_factory.mktemp("watched"))
    text = study.recipe.read_text(encoding="utf-8")
    text = re.sub(r"total_timesteps: \d+", f"total_timesteps: {4096 * UPDATES}", text)
    study.recipe.write_text(text, encoding="utf-8")
    whole = study.reproduce()
    assert whole.report["verdict"] == "NO_GOLDEN", whole.out + whole.err
    reason = ("--reason", "first golden", "--allow-dirty", "--allow-failed")
    promoted = study.reprokit("golden", "promote", "cartpole_baseline", *reason)
    assert promoted.code == 0, promoted.err
    study.change(study.trainer, UPDATE, FAULT)
    return study


def verify(study: Study, *arguments: str, backend: str = "local") -> tuple[int, dict]:
    answer = study.reprokit("verify", "cartpole_baseline", "--backend", backend, "--json", *arguments)
    [report] = json.loads(answer.out)["reports"]
    return answer.code, report


def records(runs: list[str]) -> list[dict]:
    return [json.loads((Path(run) / "run.json").read_text()) for run in runs]


def lengths(runs: list[str]) -> list[int]:
    return [len((Path(run) / "metrics.jsonl").read_text().splitlines()) for run in runs]


@pytest.fixture(scope="module")
def whole(faulty: Study) -> tuple[int, dict]:
    return verify(faulty, "--no-watch-golden")


@pytest.fixture(scope="module")
def stopped(faulty: Study, whole) -> tuple[int, dict]:
    """Made after the whole runs, so that they are the newest."""
    return verify(faulty)


def test_a_pair_that_differs_is_stopped_with_the_verdict_of_whole_runs(stopped, whole):
    code, report = stopped
    assert (code, report["verdict"]) == (1, "REGRESSION"), report["sentence"]
    assert [one["outcome"] for one in records(report["runs"])] == ["stopped_at_golden"] * 2
    assert "until they were stopped" in report["sentence"]
    whole_code, whole = whole
    assert [one["outcome"] for one in records(whole["runs"])] == ["completed"] * 2
    assert max(lengths(report["runs"])) < min(lengths(whole["runs"]))
    assert (whole_code, whole["verdict"]) == (code, report["verdict"])
    assert whole["divergence"] == report["divergence"]
    beginnings = [(Path(one) / "metrics.jsonl").read_bytes() for one in (report["runs"][0], whole["runs"][0])]
    assert beginnings[1].startswith(beginnings[0].rpartition(b"\n")[0])  # following changes no bit


def test_the_run_folders_alone_give_the_same_verdict(faulty, stopped):
    _, report = stopped
    again = faulty.reprokit("report", "show", *report["runs"], "--json")
    assert (again.code, again.report["verdict"]) == (1, "REGRESSION")
    assert again.report["divergence"] == report["divergence"]


def test_the_rows_say_what_was_not_judged_and_why(stopped):
    rows = {row["id"]: row for row in stopped[1]["checks"]}
    assert rows["equals_golden"]["status"] == "FAILED"
    for name in ("logs_complete", "checkpoints_complete", "headline_results"):
        assert (rows[name]["status"], rows[name]["required"]) == ("SKIPPED", False)
    failed = {name for name, row in rows.items() if row["status"] in {"FAILED", "ERROR"} and row["required"]}
    assert failed == {"equals_golden"}


@pytest.mark.parametrize(
    "verb",
    [
        ("golden", "promote", "cartpole_baseline", "--reason", "x", "--allow-dirty"),
        ("golden", "promote", "{0}", "{1}", "--reason", "x", "--allow-dirty"),
        ("runs", "compare", "{0}", "{1}"),
        ("runs", "reproduce", "{0}"),
        ("run", "cartpole_baseline", "--resume-from", "{0}"),
        ("diff", "{0}", "{1}"),
    ],
    ids=lambda verb: " ".join(verb[:2]),
)
def test_no_verb_takes_a_stopped_run_for_a_finished_one(faulty, stopped, verb):
    answer = faulty.reprokit(*(word.format(*stopped[1]["runs"]) for word in verb))
    assert answer.code == 2, answer.out + answer.err
    assert "stopped" in answer.err


@pytest.mark.slow
@pytest.mark.engine
def test_containers_are_stopped_and_nothing_of_them_is_left(faulty, engine):
    code, report = verify(faulty, backend="docker")
    assert (code, report["verdict"]) == (1, "REGRESSION"), report["sentence"]
    told = records(report["runs"])
    assert [one["outcome"] for one in told] == ["stopped_at_golden"] * 2
    rows = {row["id"]: row for row in report["checks"]}
    assert rows["hardened"]["status"] == "PASSED", rows["hardened"]
    ids = [Path(run).name for run in report["runs"]]
    names = [one.name for one in engine.containers.list(all=True)]
    assert not [name for name in names if any(run in name for run in ids)]
    for run in report["runs"]:
        assert not list((Path(run) / "output").glob("*"))
