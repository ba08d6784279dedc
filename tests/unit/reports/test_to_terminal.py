from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable, Mapping

import pytest
from rich.cells import cell_len

from reprokit.core.checklist import CheckResult, Report, Status, Verdict
from reprokit.reports.terminal.to_terminal import Style, show, style_of, to_terminal

Sample = Callable[[Verdict], Report]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PLAIN = Style(is_terminal=False)


class _Stream(io.StringIO):
    def __init__(self, *, is_terminal: bool, encoding: str = "utf-8") -> None:
        super().__init__()
        self._is_terminal, self._encoding = is_terminal, encoding

    @property
    def encoding(self) -> str:
        return self._encoding

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("color", [False, True])
def test_the_verdict_is_the_first_word_and_every_row_is_there_in_words(
    sample_report: Sample, verdict: Verdict, width: int, color: bool
) -> None:
    report = sample_report(verdict)

    text = _COLOUR.sub("", to_terminal(report, style=Style(width=width, color=color), verbose=True))

    assert text.split()[0] == verdict.value
    words = re.findall(r"^(PASSED|FAILED|SKIPPED|ERROR)\b", text, flags=re.MULTILINE)
    if verdict is Verdict.NOT_RUN:
        assert "6 checks were not made" in text
    else:
        assert words == [row.status.value for row in report.checks]
    assert report.rerun in text
    assert report.next_command in text


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("width", [40, 80, 200])
def test_nothing_but_a_command_to_copy_is_wider_than_the_terminal(
    sample_report: Sample, verdict: Verdict, width: int
) -> None:
    report = sample_report(verdict)

    lines = to_terminal(report, style=Style(width=width), verbose=True).splitlines()

    commands = {f"  {report.rerun}", f"  {report.next_command}"}
    assert all(cell_len(line) <= width for line in lines if line not in commands)
    assert not any(line != line.rstrip() for line in lines)


def test_colour_only_repeats_what_the_words_say(sample_report: Sample) -> None:
    report = sample_report(Verdict.UNJUDGED)

    colored = to_terminal(report, style=Style(width=80, color=True))

    assert _COLOUR.search(colored)
    words = [line.rstrip() for line in _COLOUR.sub("", colored).splitlines()]
    assert words == to_terminal(report, style=Style(width=80, color=False)).splitlines()


def test_plain_lines_start_with_a_fixed_word_and_are_found_by_grep(sample_report: Sample) -> None:
    lines = to_terminal(sample_report(Verdict.REGRESSION), style=_PLAIN, verbose=True).splitlines()

    assert lines[0] == "verdict: REGRESSION (exit code 1)"
    assert "first divergence: metric: losses/policy_loss" in lines
    assert any(line.startswith("check: FAILED equals_golden: ") for line in lines)
    assert any(line.startswith("hint: equals_golden: ") for line in lines)
    assert all(re.match(r"[a-z][a-z0-9 ]*: ", line) for line in lines)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_pipe_gets_at_most_nine_lines_and_the_answer_first(sample_report: Sample, verdict: Verdict) -> None:
    report = sample_report(verdict)

    lines = to_terminal(report, style=_PLAIN).splitlines()

    assert len(lines) <= 9
    answer = [f"verdict: {verdict.value} (exit code {report.exit_code})", f"why: {report.sentence}"]
    assert lines[:2] == (answer[::-1] if verdict is Verdict.NO_GOLDEN else answer)
    following = [f"next: {report.next_command}"] if report.next_command else []
    assert lines[-1 - len(following) :] == [f"run again: {report.rerun}", *following]
    assert all(re.match(r"[a-z][a-z0-9 ]*: ", line) for line in lines)


def test_a_required_row_that_did_not_pass_is_named_in_a_pipe_too(sample_report: Sample) -> None:
    report = sample_report(Verdict.REGRESSION)
    rows = [
        CheckResult(
            id=f"row_{number}", title="A row", status=Status.FAILED, reason="x", remedy="", required=True
        )
        for number in range(20)
    ]

    text = to_terminal(dataclasses.replace(report, checks=tuple(rows)), style=_PLAIN)

    assert len(text.splitlines()) <= 9
    assert all(f"row_{number}" in text for number in range(20))


def test_hostile_text_gets_no_sequence_through_and_hides_no_row(hostile_report: Report) -> None:
    text = _COLOUR.sub("", to_terminal(hostile_report, style=Style(width=80, color=True), verbose=True))

    assert all(line.isprintable() for line in text.split("\n"))
    words = re.findall(r"^(PASSED|FAILED|SKIPPED|ERROR)\b", text, flags=re.MULTILINE)
    assert words == ["PASSED", "FAILED", "SKIPPED", "ERROR"]


def test_hostile_text_in_plain_lines_cannot_start_one(hostile_report: Report) -> None:
    lines = to_terminal(hostile_report, style=_PLAIN, verbose=True).splitlines()

    assert all(line.isprintable() for line in lines)
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in lines)
    assert sum(line.startswith("check: ") for line in lines) == 4


def test_where_only_ascii_can_be_written_only_ascii_is(sample_report: Sample) -> None:
    text = to_terminal(sample_report(Verdict.REGRESSION), style=Style(width=80, can_unicode=False))

    assert text.isascii()
    assert " -> " in text


@pytest.mark.parametrize(
    ("is_terminal", "environ", "expected"),
    [
        (True, {"TERM": "xterm", "COLUMNS": "100"}, Style(width=100, is_terminal=True, color=True)),
        (True, {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"}, Style(width=100, is_terminal=True)),
        (True, {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": ""}, Style(width=100, color=True)),
        (True, {"TERM": "dumb", "COLUMNS": "100"}, Style(width=100, is_terminal=False)),
        (True, {"COLUMNS": "100", "GITHUB_ACTIONS": "true"}, Style(width=100, is_terminal=False)),
        (False, {"TERM": "xterm", "COLUMNS": "100"}, Style(width=100, is_terminal=False)),
        (False, {"COLUMNS": "5"}, Style(width=40, is_terminal=False)),
        (False, {"COLUMNS": "999"}, Style(width=200, is_terminal=False)),
    ],
)
def test_the_style_follows_the_stream_and_the_environment(
    is_terminal: bool, environ: Mapping[str, str], expected: Style
) -> None:
    assert style_of(_Stream(is_terminal=is_terminal), environ=environ) == expected


def test_an_encoding_other_than_utf_8_gets_ascii() -> None:
    assert not style_of(_Stream(is_terminal=False, encoding="latin-1"), environ={}).can_unicode


def test_show_writes_plain_lines_to_what_is_no_terminal(sample_report: Sample) -> None:
    stream = _Stream(is_terminal=False)

    show(sample_report(Verdict.REPRODUCED), stream=stream)

    assert stream.getvalue() == to_terminal(sample_report(Verdict.REPRODUCED), style=_PLAIN)


def test_long_lists_are_cut_and_say_so(samples, sample_report: Sample) -> None:
    report = samples.with_rows(sample_report(Verdict.STALE_GOLDEN), [f"field {index}" for index in range(40)])

    whole = to_terminal(report, style=Style(width=80), verbose=True)
    assert "25 more fields in the report folder" in whole
