"""Metrics of the clock that are text, or fall, are the clock's when the texts fit the runs' times."""

from __future__ import annotations

import json

import pytest

from reprokit import adapters
from reprokit.harness.judging.differences.clock_evidence import clock_kinds

SPANS = ((1_000_000.0, 1_000_010.0), (2_000_000.0, 2_000_012.0))


@pytest.fixture
def kinds(tmp_path):
    def judge(first, other):
        for name, records in (("a", first), ("b", other)):
            (tmp_path / name).mkdir()
            lines = (json.dumps({"step": at, "loss": 0.5, **one}) + "\n" for at, one in enumerate(records))
            (tmp_path / name / "log.jsonl").write_text("".join(lines))
        folders = tmp_path / "a", tmp_path / "b"
        return clock_kinds(*folders, adapters.compare_runs(*folders), spans=SPANS)

    return judge


def test_texts_and_falling_numbers_are_named_together(kinds):
    first = [{"t": {"took": "0:00:02"}, "eta_seconds": 6.5}, {"t": {"took": "0:00:09"}, "eta_seconds": 0.5}]
    other = [{"t": {"took": "0:00:03"}, "eta_seconds": 7.5}, {"t": {"took": "0:00:11"}, "eta_seconds": 0.75}]
    assert kinds(first, other) == {"t/took": "duration", "eta_seconds": "time left"}


@pytest.mark.parametrize("text", ["0:59:00", "good", "7"])
def test_a_text_that_does_not_fit_the_runs_times_is_no_clock(kinds, text):
    assert kinds([{"took": text}], [{"took": "0:00:03"}]) == {}


def test_beside_another_difference_nothing_is_named(kinds):
    assert kinds([{"took": "2s", "x": 1.5}], [{"took": "3s", "x": 2.5}]) == {}
