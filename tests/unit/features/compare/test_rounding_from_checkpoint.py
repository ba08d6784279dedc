"""Late records judged from a checkpoint: the rule, on planted runs. Real ones are an integration test."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

from reprokit import adapters
from reprokit.core import comparison
from reprokit.errors import CannotJudgeError
from reprokit.features.compare.answer import Answer, Word
from reprokit.features.compare.judge import Selected
from reprokit.features.compare.rounding import checkpoint_runs, decide, evidence, of_checkpoint
from reprokit.features.compare.rounding.checkpoint_runs import CheckpointRuns
from reprokit.features.compare.rounding.decide import with_rounding
from reprokit.features.compare.rounding.first_update import not_seen
from reprokit.features.compare.rounding.made_twins import MadeTwins, RoundingAsked, rounding_folders
from reprokit.features.compare.rounding.of_checkpoint import with_checkpoint
from reprokit.features.compare.rounding.twin_runs import TwinRuns

STEP, HORIZON, STEPS = 7, 12, 20
POINT = SimpleNamespace(sha256="sha256:" + "a" * 64, step=STEP, run="train/1", path=Path("checkpoint_7.pt"))


@pytest.fixture(autouse=True)
def _runs_are_taken_for_what_they_are(monkeypatch):
    """What the hook notes of a twin, and what a checkpoint is, is tested with real ones."""
    monkeypatch.setattr(evidence, "_must_be_of_kind", lambda *_, **__: None)
    monkeypatch.setattr(evidence, "rounded_of", lambda folder: (1, 2.0**-23))
    monkeypatch.setattr(decide, "_first", lambda *_: not_seen("no step"))
    for module in (checkpoint_runs, of_checkpoint):
        monkeypatch.setattr(module, "point_of", lambda *_: POINT)
    monkeypatch.setattr(checkpoint_runs.runs, "read", _read)


def _read(folder: Path):
    said = json.loads((folder / "said.json").read_text())
    begun = SimpleNamespace(sha256=said["sha256"], step=STEP) if said["sha256"] else None
    record = SimpleNamespace(resumed_from=begun, seed=0, digests={}, message=said["message"])
    return SimpleNamespace(complete=not said["message"], incomplete_because="", record=record)


def run(
    folder: Path,
    seed: int = 0,
    *,
    rate: float = 1.0,
    after: int = -1,
    first: int = 0,
    leaves: int | None = None,
    sha256: str = "",
    message: str = "",
) -> Path:
    """A log whose loss has noise of a twin, another learning rate after a step, and leaves at the horizon."""
    folder.mkdir()
    draw, loss, lines = random.Random(seed), 2.0, []
    for step in range(STEPS):
        loss *= 0.9713 ** (rate if step > after else 1)
        noise = draw.uniform(-1, 1) * 1e-7 if seed and step >= first else 0
        far = 0.1 * seed if leaves is not None and step >= leaves else 0
        lines.append(json.dumps({"step": step, "loss": loss + noise + far}) + "\n")
    (folder / "metrics.jsonl").write_text("".join(lines[first:]))
    (folder / "said.json").write_text(json.dumps({"sha256": sha256, "message": message}))
    return folder


def twins_in(folder: Path, **how) -> TwinRuns:
    folder.mkdir()
    twins = tuple(run(folder / str(seed), seed, **how) for seed in range(1, 9))
    control = run(folder / "control", rate=1.001, **{**how, "leaves": None})
    return TwinRuns(twins=twins, control=control, start=0)


def answered(folder: Path, *, step: int = STEP, b: dict | None = None, begun_b: dict | None = None) -> Answer:
    """The answer on a and b whose twins leave at the horizon, and of which both begin from a checkpoint."""
    a, other = run(folder / "a"), run(folder / "b", 3, leaves=HORIZON, **(b or {}))
    from_a = {"first": STEP + 1, "sha256": POINT.sha256}
    of_b = {**from_a, "seed": 4, **(begun_b or {})}
    begun = CheckpointRuns(
        sides={
            "a": tuple(run(folder / f"a{n}", **from_a) for n in (1, 2)),
            "b": tuple(run(folder / f"b{n}", **of_b) for n in (1, 2)),
        },
        own=folder / "own",
        twins=twins_in(folder / "late", **from_a),
    )
    run(begun.own, **from_a)
    lines = (other / "metrics.jsonl").read_text().splitlines(keepends=True)
    (begun.own / "metrics.jsonl").write_text("".join(lines[STEP + 1 :]))
    asked = RoundingAsked(allowed=True, from_step=step)
    whole = twins_in(folder / "whole", leaves=HORIZON)
    made = MadeTwins(Selected(), asked, runs=whole, begun=begun)
    found, _ = adapters.compare_paths(a, other, metrics=None, ignore=())
    metrics = comparison.to_json(found)["per_metric"]
    different = Answer(answer=Word.DIFFERENT, sentence="they differ", sides={}, metrics=metrics)
    sides = {"a": (a,), "b": (other,)}
    return with_checkpoint(with_rounding(different, sides, made), sides, made)


def test_late_records_that_move_as_those_of_twins_begun_there_are_rounding_and_the_checkpoint_is_named(
    tmp_path,
):
    found = answered(tmp_path)
    assert (found.answer, found.exit_code) == (Word.ROUNDING, 0), found.sentence
    assert found.rounding["from_checkpoint"]["sha256"] == POINT.sha256
    assert found.sentence.startswith("begun from side a's checkpoint of step 7 (sha256:aaaa")
    assert found.sentence.endswith("what comes before it was judged by whole runs alone: rounding")


def test_a_late_change_that_whole_runs_do_not_show_is_different(tmp_path):
    found = answered(tmp_path, begun_b={"rate": 1.001, "after": HORIZON})
    assert (found.answer, found.exit_code) == (Word.DIFFERENT, 1), found.sentence
    assert found.rounding["from_checkpoint"]["first"]["step"] == HORIZON + 1


def test_a_beginning_that_differs_stays_different_whatever_the_checkpoint_says(tmp_path):
    found = answered(tmp_path, b={"rate": 1.01})
    assert (found.answer, found.exit_code) == (Word.DIFFERENT, 1), found.sentence
    assert found.notes == (
        "no run began from the checkpoint of step 7: the whole runs are judged without it",
    )


@pytest.mark.parametrize("step", [HORIZON - 1, HORIZON + 2])
def test_a_checkpoint_after_which_no_whole_run_is_judged_says_nothing(tmp_path, step):
    found = answered(tmp_path, step=step)
    assert (found.answer, found.exit_code) == (Word.UNJUDGED, 4)
    assert f"the checkpoint of step {step} does not help: " in found.sentence


@pytest.mark.parametrize(
    ("begun_b", "why"),
    [
        ({"first": 0}, "side b did not go on from the checkpoint of step 7: its first record is of step 0"),
        ({"sha256": "sha256:" + "b" * 64}, "this run did not begin from the checkpoint"),
        ({"sha256": ""}, "this run did not begin from the checkpoint"),
        ({"message": "size mismatch."}, "side b does not run from the checkpoint: size mismatch"),
    ],
)
def test_a_side_that_does_not_begin_from_the_checkpoint_of_a_is_unjudged(tmp_path, begun_b, why):
    found = answered(tmp_path, begun_b=begun_b)
    assert (found.answer, found.exit_code) == (Word.UNJUDGED, 4)
    assert why in found.sentence


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a2", "side a does not repeat from the checkpoint of step 7"),
        ("b2", "side b does not repeat from the checkpoint of step 7"),
        ("own", "side b does not give its own records again when it is resumed at step 7"),
    ],
)
def test_a_side_that_does_not_repeat_or_resume_is_unjudged(tmp_path, monkeypatch, name, why):
    natural = checkpoint_runs.must_begin_there

    def changed(*given):
        with (tmp_path / name / "metrics.jsonl").open("a") as log:
            log.write('{"step": 20, "loss": 1.0}\n')
        natural(*given)

    monkeypatch.setattr(of_checkpoint, "must_begin_there", changed)
    found = answered(tmp_path)
    assert (found.answer, found.exit_code) == (Word.UNJUDGED, 4)
    assert why in found.sentence


def test_what_is_judged_is_the_same_when_the_report_is_read_again(tmp_path):
    found = answered(tmp_path)
    again = MadeTwins.of_report(json.loads(json.dumps(found.rounding)), Selected())
    assert again is not None
    assert again.begun is not None
    assert again.asked.from_step == STEP
    assert set(again.begun.folders) <= set(rounding_folders(found.rounding))


def test_a_step_without_a_checkpoint_names_those_that_there_are(tmp_path, monkeypatch):
    monkeypatch.undo()
    listed = [SimpleNamespace(step=5), SimpleNamespace(step=10), SimpleNamespace(step=None)]
    monkeypatch.setattr(checkpoint_runs, "written_in", lambda run: run)
    monkeypatch.setattr(checkpoint_runs.checkpoints, "listed", lambda folder: listed)
    with pytest.raises(CannotJudgeError, match="side a left no checkpoint of step 7; it has those of 5, 10"):
        checkpoint_runs.point_of("a", tmp_path, 7)
