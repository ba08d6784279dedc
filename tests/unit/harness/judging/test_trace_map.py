from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reprokit.harness.judging.trace_map import trace_map


def _trace(folder: Path, records: list[dict[str, Any]]) -> Path:
    folder.mkdir()
    (folder / "trace.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def _record(update: int, **digests: str) -> dict[str, Any]:
    return {"update": update, "step": 10 * update, "parameters": {"weight": "a", "bias": "b", **digests}}


def test_the_map_names_what_differs_in_the_order_in_which_it_begins_to(tmp_path: Path) -> None:
    one = _trace(tmp_path / "one", [_record(at) for at in range(1, 6)])
    other = [
        _record(1),
        _record(2),
        _record(3, bias="x"),
        _record(4, bias="x", weight="y"),
        _record(5, weight="y"),
    ]

    found = trace_map((one, _trace(tmp_path / "two", other)))

    assert found is not None
    assert (found.updates, found.first) == ((1, 2, 3, 4, 5), 2)
    assert [(row.name, row.cells) for row in found.rows] == [
        ("parameters.bias", "==xx="),
        ("parameters.weight", "===xx"),
    ]
    assert (found.num_equal, found.num_cut) == (0, 0)


def test_equal_traces_and_a_side_without_a_trace_have_no_map(tmp_path: Path) -> None:
    one = _trace(tmp_path / "one", [_record(1)])
    (tmp_path / "none").mkdir()

    assert trace_map((one, one)) is None
    assert trace_map((one, tmp_path / "none")) is None
    assert trace_map(None) is None


def test_only_updates_around_the_first_that_differs_are_kept(tmp_path: Path) -> None:
    one = _trace(tmp_path / "one", [_record(at) for at in range(1, 1001)])
    other = _trace(tmp_path / "two", [_record(at, bias="x" if at >= 500 else "b") for at in range(1, 1001)])

    found = trace_map((one, other))

    assert found is not None
    assert (found.updates[0], found.updates[found.first], found.updates[-1]) == (490, 500, 549)
    assert found.rows[0].cells == "=" * 10 + "x" * 50
    assert found.num_equal == 1


def test_of_a_thinned_trace_the_updates_that_both_have_are_compared(tmp_path: Path) -> None:
    golden = _trace(tmp_path / "golden", [_record(at) for at in (1, 4, 8)])
    run = _trace(tmp_path / "run", [_record(at, weight="x" if at > 4 else "a") for at in range(1, 9)])

    found = trace_map((golden, run))

    assert found is not None
    assert (found.updates, found.first) == ((1, 4, 8), 2)


def test_many_tensors_are_cut_and_counted(tmp_path: Path) -> None:
    names = [f"layer.{at}" for at in range(100)]
    one = _trace(tmp_path / "one", [_record(1, **dict.fromkeys(names, "a"))])
    other = _trace(tmp_path / "two", [_record(1, **dict.fromkeys(names, "b"))])

    found = trace_map((one, other))

    assert found is not None
    assert (len(found.rows), found.num_cut, found.num_equal) == (40, 60, 2)


@pytest.mark.parametrize("line", ["{", "[]", '{"update": "3"}', '{"update": null}', "[" * 100_000])
def test_a_damaged_line_is_no_update(tmp_path: Path, line: str) -> None:
    one = _trace(tmp_path / "one", [_record(1), _record(2)])
    other = _trace(tmp_path / "two", [_record(1), _record(2, bias="x")])
    for folder in (one, other):
        text = (folder / "trace.jsonl").read_text()
        (folder / "trace.jsonl").write_text(f"{line}\n{text}")

    found = trace_map((one, other))

    assert found is not None
    assert found.updates == (1, 2)
    assert [row.name for row in found.rows] == ["parameters.bias"]


def test_what_one_side_did_not_record_differs_and_what_neither_did_is_said(tmp_path: Path) -> None:
    one = _trace(tmp_path / "one", [_record(1), _record(2), _record(3)])
    other = _trace(tmp_path / "two", [_record(1), _record(2, head="c"), _record(3)])

    found = trace_map((one, other))

    assert found is not None
    assert [(row.name, row.cells) for row in found.rows] == [("parameters.head", "-x-")]
