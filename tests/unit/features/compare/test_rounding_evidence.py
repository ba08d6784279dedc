"""What run folders say of rounding: nothing that differs may be left out of the answer."""

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
from reprokit.features.compare.rounding import evidence
from reprokit.features.compare.rounding.decide import with_rounding
from reprokit.features.compare.rounding.evidence import rounding_evidence
from reprokit.features.compare.rounding.made_twins import MadeTwins, RoundingAsked
from reprokit.features.compare.rounding.sentences import times
from reprokit.features.compare.rounding.twin_runs import TwinRuns

MUST_BE_OF_KIND = evidence._must_be_of_kind


@pytest.fixture(autouse=True)
def _twins_are_taken_for_what_they_are(monkeypatch):
    """What the hook notes of a twin is tested with the hook."""
    monkeypatch.setattr(evidence, "_must_be_of_kind", lambda *_, **__: None)
    monkeypatch.setattr(evidence, "rounded_of", lambda folder: (1, 2.0**-23))


def run(folder: Path, seed: int, *, rate: float = 1.0, offset: int = 0, **more) -> Path:
    """A log whose loss has noise of a twin, and falls with a learning rate."""
    folder.mkdir()
    draw = random.Random(seed)
    with (folder / "metrics.jsonl").open("w") as log:
        for step in range(20):
            loss = 2 * 0.9713 ** (rate * step) + (draw.uniform(-1, 1) * 1e-7 if seed else 0)
            log.write(json.dumps({"step": step + offset, "loss": loss, **more}) + "\n")
    return folder


def answer(tmp_path: Path, b: Path, **of_a) -> dict:
    a = run(tmp_path / "a", 0, **of_a)
    twins = TwinRuns(
        twins=tuple(run(tmp_path / f"twin{seed}", seed, **of_a) for seed in range(1, 9)),
        control=run(tmp_path / "control", 0, rate=1.001, **of_a),
        start=0,
    )
    found, _ = adapters.compare_paths(a, b, metrics=None, ignore=())
    return rounding_evidence(a, b, twins, comparison.to_json(found)["per_metric"])


def test_a_side_that_differs_as_a_twin_does_is_rounding(tmp_path):
    found = answer(tmp_path, run(tmp_path / "b", 99, mode="x"), mode="x")
    assert (found["answer"], found["why"]) == ("rounding", "")
    assert 0 < found["resolution"] < 1e-3


def test_what_one_side_alone_logs_is_never_rounding(tmp_path):
    found = answer(tmp_path, run(tmp_path / "b", 99), accuracy=0.5)
    assert (found["answer"], found["why"]) == ("unjudged", "accuracy: only one side has it")


def test_a_text_that_differs_is_never_rounding(tmp_path):
    found = answer(tmp_path, run(tmp_path / "b", 99, mode="y"), mode="x")
    assert (found["answer"], found["why"]) == ("unjudged", "mode: it differs, and is not a number")


def test_numbers_at_different_steps_are_never_rounding(tmp_path):
    found = answer(tmp_path, run(tmp_path / "b", 99, offset=1))
    assert (found["answer"], found["why"]) == ("unjudged", "loss: b has it at different steps")


def test_without_a_control_that_is_seen_nothing_is_rounding(tmp_path):
    b = run(tmp_path / "b", 99)
    a = run(tmp_path / "a", 0)
    twins = TwinRuns(
        twins=tuple(run(tmp_path / f"twin{seed}", seed) for seed in range(1, 9)),
        control=run(tmp_path / "control", 98),
        start=0,
    )
    found, _ = adapters.compare_paths(a, b, metrics=None, ignore=())
    told = rounding_evidence(a, b, twins, comparison.to_json(found)["per_metric"])
    assert told["answer"] == "unjudged"
    assert "would not have been seen" in told["why"]


def leaving(folder: Path, seed: int, **of_run) -> Path:
    """A run whose last ten values are a tenth apart, as those of twins are: beyond what bits can say."""
    run(folder, seed, **of_run)
    log = folder / "metrics.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines[10:]:
        line["loss"] += 0.1 * seed
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def judged_until(tmp_path: Path, b: Path, last_step: float | None) -> Answer:
    a = run(tmp_path / "a", 0)
    twins = TwinRuns(
        twins=tuple(leaving(tmp_path / f"twin{seed}", seed) for seed in range(1, 9)),
        control=run(tmp_path / "control", 0, rate=1.001),
        start=0,
    )
    found, _ = adapters.compare_paths(a, b, metrics=None, ignore=())
    metrics = comparison.to_json(found)["per_metric"]
    different = Answer(answer=Word.DIFFERENT, sentence="they differ", sides={}, metrics=metrics)
    asked = RoundingAsked(allowed=True, until=last_step)
    made = MadeTwins(Selected(), asked, runs=twins)
    return with_rounding(different, {"a": (a,), "b": (b,)}, made)


def test_records_beyond_the_horizon_are_not_judged_and_what_to_type_is_said(tmp_path):
    found = judged_until(tmp_path, leaving(tmp_path / "b", 3), None)
    assert (found.answer, found.exit_code) == (Word.UNJUDGED, 4)
    assert found.sentence.endswith(
        "loss: from record 10 on rounding alone moves it by more than 1% "
        "(`--until 9` judges what comes before)"
    )


def test_what_was_left_out_by_its_step_does_not_count_and_that_is_said(tmp_path):
    found = judged_until(tmp_path, leaving(tmp_path / "b", 3), 9)
    assert (found.answer, found.exit_code, found.rounding["until_step"]) == (Word.ROUNDING, 0, 9)
    assert found.sentence.endswith("would have been seen; what comes after step 9 was left out")


def test_a_difference_before_the_step_is_still_different(tmp_path):
    found = judged_until(tmp_path, run(tmp_path / "b", 0, rate=1.001), 9)
    assert (found.answer, found.exit_code) == (Word.DIFFERENT, 1)


def test_a_step_beyond_the_horizon_leaves_the_answer_unjudged(tmp_path):
    found = judged_until(tmp_path, leaving(tmp_path / "b", 3), 10)
    assert (found.answer, found.exit_code) == (Word.UNJUDGED, 4)
    assert found.sentence.endswith("loss: from record 10 on rounding alone moves it by more than 1%")


def test_a_step_before_anything_differs_leaves_nothing_to_call_rounding(tmp_path):
    b = run(tmp_path / "b", 0)
    lines = (b / "metrics.jsonl").read_text().splitlines()
    (b / "metrics.jsonl").write_text("\n".join([*lines[:-1], '{"step": 19, "loss": 9.5}']) + "\n")
    found = judged_until(tmp_path, b, 9)
    assert (found.answer, found.exit_code) == (Word.UNJUDGED, 4)
    assert found.sentence.endswith("no metric differs up to step 9")


def test_a_side_that_is_no_longer_finite_is_infinitely_far_in_words_and_in_valid_json(tmp_path):
    a, b = run(tmp_path / "a", 0), run(tmp_path / "b", 0)
    lines = (b / "metrics.jsonl").read_text().splitlines()
    (b / "metrics.jsonl").write_text("\n".join([*lines[:-1], '{"step": 19, "loss": NaN}']) + "\n")
    twins = TwinRuns(
        twins=tuple(run(tmp_path / f"twin{seed}", seed) for seed in range(1, 9)), control=None, start=0
    )
    found, _ = adapters.compare_paths(a, b, metrics=None, ignore=())
    told = rounding_evidence(a, b, twins, comparison.to_json(found)["per_metric"])
    assert (told["answer"], times(told["ratio"])) == ("different", "infinitely many")
    assert "Infinity" not in json.dumps(told)


def test_a_twin_that_rounded_nothing_is_refused(tmp_path, monkeypatch):
    ended = SimpleNamespace(complete=True, record=None)
    monkeypatch.setattr(evidence.runs, "read", lambda *_, **__: ended)
    monkeypatch.setattr(evidence, "rounded_of", lambda folder: (0, 0.0))
    with pytest.raises(CannotJudgeError, match="rounded nothing"):
        MUST_BE_OF_KIND(tmp_path, {"updates", "modules"}, of=tmp_path)
