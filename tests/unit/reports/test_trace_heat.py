from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from reprokit.core.checklist import Report, Verdict
from reprokit.core.report_parts import TraceMap, TraceRow
from reprokit.reports.formats.to_html import to_html
from reprokit.reports.formats.to_json import from_json, to_json
from reprokit.reports.pages.trace_heat import trace_heat

Sample = Callable[[Verdict], Report]


def _map(cells: str, *, updates: tuple[int, ...] = (7, 8, 9, 10), first: int = 1) -> TraceMap:
    return TraceMap(updates=updates, first=first, rows=(TraceRow(name="weights.0", cells=cells),))


def test_a_row_is_told_as_stretches_of_updates() -> None:
    found = trace_heat(_map("=xx-"))

    assert found is not None
    (row,) = found.rows
    assert [(one.at, one.width, one.kind) for one in row.stretches] == [
        (0, 1, "same"),
        (1, 2, "apart"),
        (3, 1, "none"),
    ]
    assert row.summary == "weights.0: update 7 equal; updates 8 to 9 differs; update 10 not recorded"
    assert found.first_update == "8"


@pytest.mark.parametrize(
    "found",
    [
        _map("", updates=()),
        _map("=x", first=9),
        _map("=x", first=-1),
        None,
    ],
)
def test_what_cannot_be_drawn_is_not_drawn(found: TraceMap | None) -> None:
    assert trace_heat(found) is None


def test_cells_of_another_length_than_the_updates_are_drawn_as_far_as_they_go() -> None:
    for cells in ("=x", "=xxxxxxxx?"):
        found = trace_heat(_map(cells))
        assert found is not None
        assert sum(one.width for one in found.rows[0].stretches) == min(len(cells), 4)


def test_the_page_shows_the_map_below_the_records_and_marks_the_first_difference(
    sample_report: Sample,
) -> None:
    page = to_html(sample_report(Verdict.REGRESSION))

    section = page[page.index(">First divergence") : page.index(">Curves, those that differ first")]
    assert section.index("The records before and after it") < section.index("Which tensors differ")
    assert section.count('<svg class="strip"') == 3
    assert section.count("first to differ</span>") == 1
    assert "The first that differs is update 11" in section
    assert "Which tensors differ" not in to_html(sample_report(Verdict.REPRODUCED))


def test_a_report_without_a_map_stays_what_it_was(sample_report: Sample) -> None:
    report = sample_report(Verdict.REGRESSION)

    assert from_json(to_json(report)).trace == report.trace
    without = to_json(dataclasses.replace(report, trace=None))
    assert '"trace":' not in without
    assert from_json(without).trace is None
