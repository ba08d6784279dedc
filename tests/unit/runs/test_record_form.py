"""Which values a run.json may have: with any other, nothing in it is believed."""

from __future__ import annotations

import json

import pytest

from reprokit.runs import listing, reading
from reprokit.runs.record_form import misfit

GOOD = {
    "seed": 42,
    "command": ["python"],
    "image": {"variant": "cpu"},
    "outcome": "completed",
    "exit_code": 0,
}


def test_what_reprokit_writes_fits_and_other_keys_may_hold_anything():
    assert misfit(GOOD) == ""
    assert misfit({**GOOD, "image": None, "duration_s": 5, "something new": [{}]}) == ""
    for recipe in (None, {}, {"ranks": None}, {"ranks": {"world_size": 64, "shards": 64}, "seeds": [1]}):
        assert misfit({**GOOD, "recipe_data": recipe}) == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", "42"),
        ("seed", True),
        ("command", "python"),
        ("command", [None]),
        ("image", []),
        ("image", {"variant": 1}),
        ("left_because", True),
        ("environment", {"A": 1}),
        ("owner", {"pid": "1"}),
        ("duration_s", "5"),
        ("recipe_data", []),
        ("recipe_data", {"ranks": 2}),
        ("recipe_data", {"ranks": {"world_size": "2"}}),
        ("recipe_data", {"ranks": {"world_size": True}}),
        ("recipe_data", {"ranks": {"world_size": 100_000_000}}),
    ],
)
def test_a_value_of_another_kind_is_named_and_the_run_is_not_complete(tmp_path, name, value):
    assert misfit({**GOOD, name: value}) == name
    run = tmp_path / "runs" / "train" / "20261120T101500Z-aaaa-seed42-1"
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({**GOOD, name: value}))
    (run / "COMPLETE").write_text(json.dumps({"files": {"run.json": {}}}))
    stored = reading.read(run)
    assert (stored.complete, dict(stored.record)) == (False, {})
    assert f"run.json is damaged: {name!r}" in stored.incomplete_because
    (row,) = listing.summaries(tmp_path / "runs", reports_dir=tmp_path / "reports", now_ns=0)
    assert row.outcome == "damaged"
