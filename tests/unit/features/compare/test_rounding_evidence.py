"""What run folders say of rounding: nothing that differs may be left out of the answer."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from reprokit import adapters
from reprokit.core import comparison
from reprokit.features.compare.rounding import evidence
from reprokit.features.compare.rounding.evidence import rounding_evidence
from reprokit.features.compare.rounding.twin_runs import TwinRuns


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
