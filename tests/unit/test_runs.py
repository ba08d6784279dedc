"""Run folders: what is complete, what was touched, and what a killed tool leaves."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from reprokit import runs
from reprokit.core.records import Outcome, Realisation, RunResult, RunSpec
from reprokit.errors import ReportError, WorkspaceError

PINNED = Realisation(
    variant="cpu",
    kind="venv",
    reference="/env",
    digest="sha256:0",
    python="/env/bin/python",
    lock_digest="sha256:1",
)


def make_run(runs_dir: Path, *, run_id: str = "20261120T101500Z-aaaa-seed42-1", pinned: bool = True) -> Path:
    spec = RunSpec(
        recipe="tiny",
        run_id=run_id,
        seed=42,
        device="cpu",
        command=("{python}", "train.py"),
        realisation=PINNED if pinned else None,
    )
    run_dir = runs.create(
        runs_dir, spec, facts={"backend": "local"}, files={"config.yaml": b"training: {}\n"}
    )
    (run_dir / "output" / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
    (run_dir / "output" / "checkpoints").mkdir()
    (run_dir / "output" / "checkpoints" / "final_model.pt").write_bytes(b"weights")
    return run_dir


def ended(outcome: Outcome = Outcome.COMPLETED, code: int | None = 0) -> RunResult:
    return RunResult(
        outcome=outcome,
        exit_code=code,
        started_at="2026-11-20T10:15:00Z",
        ended_at="2026-11-20T10:15:05Z",
        duration_s=5.0,
        message="" if code == 0 else "the program crashed",
    )


def test_a_finished_run_is_complete_and_its_output_lies_in_the_run_folder(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path)
    runs.finish(run_dir, ended(), environment={"schema": 1})
    stored = runs.read(run_dir)
    assert stored.complete
    assert {"metrics.jsonl", "checkpoints/final_model.pt", "run.json", "environment.json"} <= set(
        stored.files
    )
    assert not (run_dir / "output").exists()


def test_a_running_run_is_never_judged_as_finished(tmp_path: Path) -> None:
    stored = runs.read(make_run(tmp_path))
    assert not stored.complete
    assert stored.incomplete_because == "the run has not ended"


def test_a_crashed_run_has_no_marker_but_keeps_its_files(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path)
    runs.finish(run_dir, ended(Outcome.CRASHED, 1), environment={})
    assert not (run_dir / "COMPLETE").exists()
    assert (run_dir / "metrics.jsonl").is_file()
    assert runs.read(run_dir).incomplete_because == "the program crashed"


def test_a_marker_that_the_program_wrote_is_not_believed(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path)
    (run_dir / "output" / "COMPLETE").write_text(json.dumps({"schema": 1, "files": {"run.json": {}}}))
    assert not runs.read(run_dir).complete
    runs.finish(run_dir, ended(Outcome.CRASHED, 1), environment={})
    assert not runs.read(run_dir).complete
    assert not (run_dir / "COMPLETE").exists()


def test_a_log_of_forty_gibibytes_that_is_nothing_but_holes_is_refused_at_once(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path)
    log = run_dir / "output" / "metrics.jsonl"
    log.write_text('{"step": 0, "loss": 1}\n')
    os.truncate(log, 40 << 30)
    with pytest.raises(
        WorkspaceError, match=r"consists of holes.*40\.0 GiB, of which \d+ KiB are on the disk"
    ):
        runs.finish(run_dir, ended(), environment={})
    assert not (run_dir / "COMPLETE").exists()


def test_a_run_record_that_the_program_wrote_does_not_replace_the_hosts(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path)
    (run_dir / "output" / "run.json").write_text('{"seed": 7}')
    runs.finish(run_dir, ended(), environment={})
    stored = runs.read(run_dir)
    assert stored.record.seed == 42
    assert stored.record.left_in_output == ("run.json",)


def test_a_link_out_of_the_run_folder_is_not_followed(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path)
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"step": 1, "loss": 0.5}\n')
    (run_dir / "output" / "metrics.jsonl").unlink()
    (run_dir / "output" / "metrics.jsonl").symlink_to(secret)
    runs.finish(run_dir, ended(), environment={})
    assert "metrics.jsonl" not in runs.read(run_dir).files
    assert runs.read(run_dir).record.left_in_output == ("metrics.jsonl",)


@pytest.mark.parametrize(
    ("touch", "because"),
    [
        (
            lambda d: (d / "metrics.jsonl").write_text('{"step": 1, "loss": 0.6}\n'),
            "metrics.jsonl was changed",
        ),
        (lambda d: (d / "metrics.jsonl").unlink(), "metrics.jsonl is missing"),
        (lambda d: (d / "progress.csv").write_text("step,loss\n"), "progress.csv was added"),
        (lambda d: (d / "COMPLETE").write_text(""), "COMPLETE is damaged"),
        (lambda d: (d / "COMPLETE").unlink(), "never closed"),
        (
            lambda d: (d / "checkpoints" / "final_model.pt").write_bytes(b"Weights"),
            "final_model.pt was changed",
        ),
    ],
)
def test_a_run_folder_that_was_touched_afterwards_is_not_complete(
    tmp_path: Path, touch, because: str
) -> None:
    run_dir = make_run(tmp_path)
    runs.finish(run_dir, ended(), environment={})
    touch(run_dir)
    stored = runs.read(run_dir)
    assert not stored.complete
    assert because in stored.incomplete_because


def test_the_run_of_a_killed_tool_is_closed_as_interrupted_at_the_next_start(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path)
    record = json.loads((run_dir / "run.json").read_text())
    record["owner"]["started"] -= 1000.0
    (run_dir / "run.json").write_text(json.dumps(record))
    assert runs.recover(tmp_path, note=[].append) == [run_dir]
    stored = runs.read(run_dir)
    assert not stored.complete
    assert stored.record.outcome == "interrupted"
    assert (run_dir / "metrics.jsonl").is_file()


def test_the_run_of_a_living_tool_is_left_alone(tmp_path: Path) -> None:
    make_run(tmp_path)
    assert runs.recover(tmp_path, note=[].append) == []


def test_a_run_is_found_by_path_by_id_and_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    first = make_run(tmp_path)
    make_run(tmp_path, run_id="20261120T101500Z-aaaa-seed42-2")
    assert runs.find(tmp_path, str(first)) == first
    assert runs.find(tmp_path, first.name) == first
    with pytest.raises(ReportError, match="2 runs"):
        runs.find(tmp_path, "20261120")
    with pytest.raises(ReportError, match="no run"):
        runs.find(tmp_path, "1999")


def test_a_folder_without_run_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="not a run folder"):
        runs.read(tmp_path)


def test_a_run_that_another_tool_closed_meanwhile_never_becomes_complete(tmp_path: Path) -> None:
    """As that of a machine that seemed lost and continues: its files were moved while it wrote them."""
    run_dir = make_run(tmp_path)
    runs.close_interrupted(run_dir, message="its machine was lost", outcome=Outcome.MACHINE_LOST)
    with pytest.raises(WorkspaceError, match="another tool has closed this run meanwhile"):
        runs.finish(run_dir, ended(), environment={})
    assert not (run_dir / "COMPLETE").exists()
    assert json.loads((run_dir / "run.json").read_text())["outcome"] == "machine_lost"


def test_a_run_of_another_machine_is_not_closed_because_its_process_is_not_here(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path)
    record = json.loads((run_dir / "run.json").read_text())
    gone = {"pid": 2**22 + 1, "started": 0.0, "boot": 0.0}
    (run_dir / "run.json").write_text(json.dumps({**record, "owner": {**gone, "machine": "0123456789ab"}}))
    assert runs.recover(tmp_path, note=lambda _text: None) == []
    (run_dir / "run.json").write_text(json.dumps({**record, "owner": gone}))
    assert runs.recover(tmp_path, note=lambda _text: None) == [run_dir]
