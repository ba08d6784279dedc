"""Traces: the first difference is named, and a thinned golden trace is matched by update."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit.harness.judging.differences.trace_comparison import compare_traces, update_steps


def record(update: int, *, weights: str = "aa", rng: str = "bb") -> dict:
    return {"step": update * 100, "update": update, "parameters": weights, "rng": {"torch": rng}}


def write(path: Path, records: list[dict]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def test_equal_traces_are_equal_in_every_record(tmp_path: Path) -> None:
    a = write(tmp_path / "a", [record(1), record(2)])
    b = write(tmp_path / "b", [record(1), record(2)])
    assert compare_traces(a, b).equal
    assert compare_traces(a, b).records_compared == 2


def test_the_first_digest_that_differs_is_named_with_its_step(tmp_path: Path) -> None:
    a = write(tmp_path / "a", [record(1), record(2), record(3)])
    b = write(tmp_path / "b", [record(1), record(2, rng="cc"), record(3, weights="dd")])
    result = compare_traces(a, b)
    assert not result.equal
    assert result.first == {"step": 200, "what": "rng.torch", "expected": "bb", "actual": "cc"}


@pytest.mark.parametrize("shorter", ["expected", "actual"])
def test_a_missing_last_record_is_a_difference_on_either_side(tmp_path: Path, shorter: str) -> None:
    full = write(tmp_path / "full", [record(1), record(2)])
    short = write(tmp_path / "short", [record(1)])
    pair = (short, full) if shorter == "expected" else (full, short)
    assert not compare_traces(*pair).equal


def test_a_thinned_trace_is_compared_at_its_own_updates_only(tmp_path: Path) -> None:
    golden = write(tmp_path / "golden", [record(1), record(3)])
    full = write(tmp_path / "full", [record(1), record(2, weights="other"), record(3)])
    assert compare_traces(golden, full, thinned=True).equal
    broken = write(tmp_path / "broken", [record(1), record(2), record(3, weights="other")])
    assert compare_traces(golden, broken, thinned=True).first["what"] == "parameters"


def test_an_update_that_the_golden_holds_and_the_run_lacks_is_a_difference(tmp_path: Path) -> None:
    golden = write(tmp_path / "golden", [record(1), record(3)])
    cut = write(tmp_path / "cut", [record(1), record(2)])
    assert not compare_traces(golden, cut, thinned=True).equal


def test_a_line_that_cannot_be_read_is_never_equal_even_to_itself(tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    torn.write_text('{"step": 100, "upd')
    assert not compare_traces(torn, torn).equal


def test_a_trace_that_is_not_there_compares_nothing(tmp_path: Path) -> None:
    assert compare_traces(tmp_path / "none", tmp_path / "none").records_compared == 0


def test_update_steps_come_in_the_order_of_the_trace(tmp_path: Path) -> None:
    assert update_steps(write(tmp_path / "a", [record(1), record(2)])) == (100, 200)
