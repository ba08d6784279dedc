"""What holds for every module ``to_*.py``: adding a format means adding it here, or this fails."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import reprokit.reports
from reprokit.core.checklist import Report, Status, Verdict
from reprokit.core.report_parts import ReportComparisons
from reprokit.reports.formats.to_github import step_summary
from reprokit.reports.formats.to_html import to_html
from reprokit.reports.formats.to_json import from_json, to_json
from reprokit.reports.formats.to_junit import to_junit
from reprokit.reports.formats.to_markdown import to_markdown
from reprokit.reports.formats.to_notebook import to_notebook
from reprokit.reports.pages.paper import ROOMS, paper
from reprokit.reports.terminal.to_terminal import Style, to_terminal

Sample = Callable[[Verdict], Report]

_DRAW: dict[str, Callable[[Report], str]] = {
    "to_github": lambda report: step_summary([report]),
    "to_html": to_html,
    "to_json": to_json,
    "to_junit": to_junit,
    "to_markdown": to_markdown,
    "to_notebook": lambda report: html.unescape(to_notebook(report)),
    "to_pdf": lambda report: f"{json.dumps(paper(report, ROOMS[0]))}\n",  # what its pages are drawn from
    "to_terminal": lambda report: to_terminal(report, style=Style(is_terminal=False), verbose=True),
}


def test_no_format_is_left_out() -> None:
    folder = Path(reprokit.reports.__file__).parent

    assert sorted(_DRAW) == sorted(path.stem for path in folder.rglob("to_*.py"))


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        (name, verdict)
        for name in sorted(_DRAW)
        for verdict in Verdict
        if (name, verdict) != ("to_terminal", Verdict.NOT_RUN)  # there no row says more than the verdict
    ],
)
def test_a_format_has_the_verdict_before_the_rows_and_every_row(
    sample_report: Sample, name: str, verdict: Verdict
) -> None:
    report = sample_report(verdict)

    text = _DRAW[name](report)

    folded = name in {"to_html", "to_notebook", "to_pdf"}  # rows that passed stand below the others there
    rows = sorted(report.checks, key=lambda row: folded and row.status is Status.PASSED)
    positions = [text.index(row.id) for row in rows]
    assert 0 <= text.index(verdict.value) < min(positions)
    assert sorted(positions) == positions
    assert text.endswith("\n")


@pytest.mark.parametrize("name", sorted(_DRAW))
def test_a_format_says_the_same_of_a_report_that_was_read_back(sample_report: Sample, name: str) -> None:
    report = sample_report(Verdict.STALE_GOLDEN)

    assert _DRAW[name](from_json(to_json(report))) == _DRAW[name](report)


@pytest.mark.parametrize("name", sorted(_DRAW))
def test_a_format_draws_a_report_with_nothing_in_it(sample_report: Sample, name: str) -> None:
    empty = dataclasses.replace(
        sample_report(Verdict.UNJUDGED),
        sentence="",
        next_command="",
        recipe="",
        platform="",
        runs=(),
        golden=None,
        environment_diff=(),
        divergence=None,
        checks=(),
        timing={},
        curves={},
        environment={},
        comparisons=ReportComparisons(),
        created_at="",
        command="",
        rerun="",
        not_run=None,
        recipe_file=None,
        recipe_lines={},
    )

    assert "UNJUDGED" in _DRAW[name](empty)


@pytest.mark.parametrize("name", sorted(_DRAW))
def test_a_format_draws_numbers_that_json_does_not_have(sample_report: Sample, name: str) -> None:
    report = sample_report(Verdict.REGRESSION)
    odd = dataclasses.replace(
        report.divergence, expected=float("nan"), actual=10**5000, rel_error=float("inf")
    )

    text = _DRAW[name](dataclasses.replace(report, divergence=odd))

    assert "NaN" in text
    assert hex(10**5000)[:40] in text
