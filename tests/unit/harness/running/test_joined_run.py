"""A resumed run is one with what it was only where nothing is missing and nothing is another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit.core.records import Outcome, RunResult
from reprokit.core.run_record import RunRecord
from reprokit.harness.running.resuming.joined_run import as_whole, join_with_earlier
from reprokit.harness.running.run_inputs import inputs_of
from reprokit.records import run_json

ENDED = RunResult(
    outcome=Outcome.COMPLETED, exit_code=0, message="", started_at="", ended_at="", duration_s=1.0
)
COMMAND = ["python", "-m", "it"]


def lines(*steps: int, changed: int = 0) -> str:
    return "".join(f'{{"step": {step}, "loss": {0.5 if step == changed else 1.0}}}\n' for step in steps)


def run(root: Path, name: str, text: str, *, output: bool = False, point: dict | None = None) -> Path:
    folder = root / "train" / name
    place = folder / "output" if output else folder
    place.mkdir(parents=True)
    for file in ("metrics.jsonl", "trace.jsonl"):
        (place / file).write_text(text)
    record = {"recipe": "train", "command": [*COMMAND, "--resume-from", "x"], "resumed_from": point}
    (folder / "run.json").write_text(json.dumps(record))
    return folder


def from_(name: str, step: int) -> dict:
    return {"run": f"train/{name}", "checkpoint": f"checkpoint_{step}.pt", "step": step, "command": COMMAND}


def joined(root: Path, earlier: str, later: str) -> tuple[RunResult, Path]:
    run(root, "one", earlier)
    folder = run(root, "two", later, output=True, point=from_("one", 20))
    return join_with_earlier(folder, ENDED), folder


def test_the_records_up_to_the_checkpoint_come_before_those_after_it(tmp_path):
    result, folder = joined(tmp_path, lines(10, 20, 30), lines(30, 40))
    assert result.completed
    for file in ("metrics.jsonl", "trace.jsonl"):
        assert (folder / "output" / file).read_text() == lines(10, 20, 30, 40)
    record = json.loads((folder / "run.json").read_text())
    assert record["resumed_from"]["joined"] is True


def test_three_attempts_are_one_run(tmp_path):
    run(tmp_path, "one", lines(10, 20))
    run(tmp_path, "two", lines(20, 30, 40), point=from_("one", 10))
    folder = run(tmp_path, "three", lines(40, 50), output=True, point=from_("two", 30))
    assert join_with_earlier(folder, ENDED).completed
    assert (folder / "output" / "metrics.jsonl").read_text() == lines(10, 20, 30, 40, 50)


@pytest.mark.parametrize(
    ("earlier", "later", "why"),
    [
        (lines(10, 20, 30, changed=30), lines(30, 40), "the record of step 30 differs from the one before"),
        (lines(10), lines(30, 40), "records are missing between step 10 and 30"),
        ('{"step": 10', lines(30, 40), "do not follow each other"),
        (lines(10, 20), "", "do not follow each other"),
        (lines(10, 20), lines(10, 20, 30), "do not follow each other"),
    ],
)
def test_halves_that_make_no_whole_are_no_result(tmp_path, earlier, later, why):
    result, folder = joined(tmp_path, earlier, later)
    assert (result.outcome, why in result.message) == (Outcome.ATTEMPTS_DIFFER, True), result.message
    assert (folder / "output" / "metrics.jsonl").read_text() == later
    assert "joined" not in json.loads((folder / "run.json").read_text())["resumed_from"]


def test_only_a_joined_run_stands_on_what_the_whole_run_stands_on(tmp_path):
    whole = RunRecord(recipe="train", command=tuple(COMMAND))
    _, folder = joined(tmp_path, lines(10, 20), lines(30, 40))
    record = run_json.read(folder)
    assert inputs_of(record, {}) == inputs_of(whole, {})
    record = record._replace(resumed_from=record.resumed_from._replace(joined=False))
    assert as_whole(record) is record
    assert inputs_of(record, {}) != inputs_of(whole, {})
