"""One screen: short enough, and silent about no row that did not pass."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import pytest
from rich.cells import cell_len

from reprokit.core.checklist import CheckResult, Report, Status, Verdict
from reprokit.core.comparing.difference import Divergence
from reprokit.reports.escaping import Visible
from reprokit.reports.formats.report_content import outline
from reprokit.reports.formats.statistical_gate import statistical_facts
from reprokit.reports.terminal.terminal_lines import (
    MOST_LINES,
    command_lines,
    fact_lines,
    place_lines,
    steps,
    with_commands,
)
from reprokit.reports.terminal.to_terminal import Style, to_terminal
from support import hostile
from support.sample_report import with_text

Sample = Callable[[Verdict], Report]
LONG = "a reason that goes on and on, with a path/of/some/length.py in it, " * 12


def with_rows(report: Report, *, count: int, status: Status, required: bool = True) -> Report:
    rows = tuple(
        CheckResult(
            id=f"row_{number}", title="A row", status=status, reason=LONG, remedy=LONG, required=required
        )
        for number in range(count)
    )
    return dataclasses.replace(report, checks=(*report.checks, *rows))


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("num_failed", [0, 1, 5, 40])
def test_a_report_has_about_thirty_lines_and_no_failure_is_left_out(
    sample_report: Sample, verdict: Verdict, num_failed: int
) -> None:
    report = with_rows(sample_report(verdict), count=num_failed, status=Status.FAILED)

    text = to_terminal(report, style=Style(width=80))

    told = re.findall(r"^(?:FAILED|ERROR|SKIPPED) ", text, flags=re.MULTILINE)
    assert len(text.splitlines()) <= MOST_LINES or len(told) == 1, "the first one has its reason at any rate"
    first, where_none_is_wrong = text.split()[0], " ".join(text.split()).startswith(report.sentence)
    assert where_none_is_wrong if verdict is Verdict.NO_GOLDEN else first == verdict.value
    assert report.rerun in as_typed(text)
    assert report.next_command in as_typed(text)
    if verdict is Verdict.NOT_RUN:
        return
    named = len(told)
    more = re.search(r"^and (\d+) more that did not pass: ", text, flags=re.MULTILINE)
    expected = [
        row
        for row in report.checks
        if row.status is not Status.PASSED and (row.required or row.status is not Status.SKIPPED)
    ]
    assert named + (int(more[1]) if more else 0) == len(expected)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("verdict", [Verdict.EQUIVALENT, Verdict.UNJUDGED, Verdict.CHECK_FAILED])
def test_a_sentence_is_wrapped_and_never_cut(sample_report: Sample, verdict: Verdict, width: int) -> None:
    alone = dataclasses.replace(sample_report(verdict), checks=(), sentence=LONG)
    report = with_rows(alone, count=3, status=Status.FAILED)

    text = to_terminal(report, style=Style(width=width))

    assert "…" not in text
    assert "".join(LONG.split()) in "".join(text.split())
    assert "".join(f"FAILED row_0: {LONG}".split()) in "".join(text.split())
    for _, value in statistical_facts(report.statistical):
        assert "".join(value.split()) in "".join(text.split())


def test_a_long_name_stands_above_its_value() -> None:
    name = f"evaluation/{'of_a_long_name/' * 4}return"
    lines = [
        line.text for line in fact_lines("Statistics", ((Visible(name), Visible("no difference")),), width=60)
    ]
    assert name in "".join("".join(lines).split())
    assert lines[-1].strip() == "no difference"


@pytest.mark.parametrize("status", [Status.FAILED, Status.ERROR, Status.SKIPPED])
def test_a_required_row_that_did_not_pass_is_named_with_its_reason(
    sample_report: Sample, status: Status
) -> None:
    report = with_rows(sample_report(Verdict.UNJUDGED), count=1, status=status)

    text = words(to_terminal(report, style=Style(width=80)))
    assert f"{status.value} row_0: a reason that goes" in text


def test_rows_that_nothing_asked_for_are_counted(sample_report: Sample) -> None:
    report = with_rows(sample_report(Verdict.REPRODUCED), count=7, status=Status.SKIPPED, required=False)

    assert "10 passed, 1 did not, 9 optional ones do not apply or were not asked for" in to_terminal(
        report, style=Style(is_terminal=False)
    )
    assert "10 checks passed, 1 did not, 9 optional ones do not apply or were not asked for" in to_terminal(
        report, style=Style(width=80)
    )


def as_typed(text: str) -> str:
    """The text as a shell reads it: a backslash at the end of a line joins it with the next."""
    return re.sub(r" \\\n *", " ", text)


def nothing_but_a_command_is_wider(report: Report, width: int) -> None:
    lines = to_terminal(report, style=Style(width=width)).splitlines()
    commands = len(lines) - next((at for at, line in enumerate(lines) if line.startswith("Run again:")), 0)
    assert all(cell_len(line) <= width for line in lines[:-commands])
    assert all(line.isprintable() for line in lines)


def nothing_is_wider(report: Report, width: int) -> None:
    lines = to_terminal(report, style=Style(width=width)).splitlines()
    assert all(cell_len(line) <= width for line in lines if len(line.removesuffix(" \\").split()) > 1)


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("width", [40, 80, 200])
def test_nothing_but_a_long_word_of_a_command_is_wider_than_the_terminal(
    sample_report: Sample, verdict: Verdict, width: int
) -> None:
    nothing_is_wider(sample_report(verdict), width)


@pytest.mark.parametrize("width", [40, 200])
def test_hostile_text_is_wrapped_too(hostile_report: Report, width: int) -> None:
    nothing_but_a_command_is_wider(hostile_report, width)


def test_hostile_text_is_wrapped_under_every_verdict(sample_report: Sample) -> None:
    text = max(hostile.TEXTS, key=cell_len)
    for verdict in Verdict:
        nothing_but_a_command_is_wider(with_text(sample_report(verdict), text), 80)


def test_the_divergence_stands_above_the_rows(sample_report: Sample) -> None:
    text = to_terminal(sample_report(Verdict.REGRESSION), style=Style(width=80))

    assert 0 < text.index("First divergence") < text.index("What changed") < text.index("FAILED")
    assert "-0.012345678901234567" in text


def test_rows_that_no_one_asked_for_are_counted_once(sample_report: Sample) -> None:
    report = sample_report(Verdict.REPRODUCED)
    told = f"{report.sentence} 2 optional checks do not apply or were not asked for."
    style = Style(width=200)

    assert to_terminal(report, style=style).count("not asked for") == 1
    counted = to_terminal(dataclasses.replace(report, sentence=told), style=style)
    assert counted.count("not asked for") == 1


def test_a_divergence_stands_there_once(sample_report: Sample) -> None:
    reason = "runs/a differs from the first run from step 43008 on"
    row = CheckResult(id="repeatable", title="A row", status=Status.FAILED, reason=reason, remedy="look")
    report = dataclasses.replace(sample_report(Verdict.NONDETERMINISTIC), checks=(row,))

    text = to_terminal(report, style=Style(width=80))

    assert "FAILED   repeatable: see the first divergence\n" in text
    assert reason not in " ".join(text.split())


@pytest.mark.parametrize(
    ("errors", "shown", "hidden"),
    [
        ({"rel_error": 0.0583, "ulps": 466_255_744_073_728}, "relative error  5.83 %", "last place"),
        ({"rel_error": 3.2e-16, "ulps": 2}, "units in the last place  2", "%"),
    ],
)
def test_only_rounding_is_measured_in_units_in_the_last_place(sample_report: Sample, errors, shown, hidden):
    first = Divergence(record=3, step=None, metric="loss", expected=1.0, actual=2.0, **errors)
    report = dataclasses.replace(sample_report(Verdict.NONDETERMINISTIC), divergence=first)

    text = to_terminal(report, style=Style(width=80)).partition("Cause")[0]

    assert shown in text
    assert hidden not in text
    assert "3 (counted from 0)" in text, "a log without steps"
    assert "(none)" not in text


def test_a_suggested_command_is_never_cut_or_broken(sample_report: Sample) -> None:
    command = f"reprokit diff runs/{'a' * 30} runs/{'b' * 30}"
    remedy = f"see where they differ: `{command}`; promote it if the change is intended"
    row = CheckResult(id="distinct", title="A row", status=Status.FAILED, reason="x", remedy=remedy)
    report = dataclasses.replace(sample_report(Verdict.NONDETERMINISTIC), checks=(row,))

    text = to_terminal(report, style=Style(width=80))
    assert max(map(len, text.splitlines())) <= 80
    lines = as_typed(text).splitlines()

    assert lines[(at := lines.index("         → see where they differ:")) + 1].strip() == command
    assert lines[at + 2].strip() == "promote it if the change is intended"
    assert with_commands(Visible("run `make setup`"), width=80, lead="→ ") == ["→ run `make setup`"]
    assert len(lines) <= MOST_LINES


def test_a_long_command_can_be_copied_with_its_quotes_whole() -> None:
    command = "reprokit golden promote runs/one runs/two --reason 'the first golden of this recipe'"

    lines = command_lines(command, width=60, lead="Next:      ")

    assert lines == [
        "Next:      reprokit golden promote runs/one runs/two \\",
        "           --reason 'the first golden of this recipe'",
    ]
    assert as_typed("\n".join(lines)) == f"Next:      {command}"


def test_a_comment_comes_after_a_long_command_and_within_quotes_it_is_none() -> None:
    command = f"reprokit reproduce archive.tar.gz --sha256 sha256:{'0' * 64}"

    lines = command_lines(f"{command}  # train", width=80, lead="Run again: ")

    assert lines == [
        "Run again: reprokit reproduce archive.tar.gz --sha256 \\",
        f"  sha256:{'0' * 64}",
        "  # train",
    ]
    quoted = "reprokit golden promote runs/one --reason 'less  # of the discount'"
    assert command_lines(quoted, width=40) == [quoted]


def test_steps_to_type_stand_one_below_the_other() -> None:
    lines = [line.text for line in steps("Next", "commit the changes, then: make a, then: make b", width=80)]

    assert lines == ["Next:      commit the changes", "then:      make a", "then:      make b"]


def test_what_to_type_where_a_change_is_not_meant_stands_on_a_line_of_its_own() -> None:
    lines = [line.text for line in steps("Next", "if it is meant: make a, else: make b", width=80)]

    assert lines == ["Next:      if it is meant: make a", "else:      make b"]


def test_a_cause_that_was_found_is_not_to_be_looked_for_again(sample_report: Sample) -> None:
    told = "reprokit diagnose train --seed 1"
    report = dataclasses.replace(sample_report(Verdict.NONDETERMINISTIC), next_command=told)

    assert outline(dataclasses.replace(report, cause=None)).next_command == told
    assert outline(report).next_command == ""


def test_a_place_with_no_room_is_a_name_and_its_folder() -> None:
    path = "reports/train/20261126T220934Z-b42c-diagnose/diagnosis.html"

    assert place_lines("Page:", path, width=80) == [f"Page:      {path}"]
    assert place_lines("Page:", path, width=60) == ["Page:      diagnosis.html in", path.rpartition("/")[0]]
    noted = f"{path} (a page: pip install 'reprokit-verify[html]')"
    assert all(len(line) <= 60 for line in place_lines("Report:", noted, width=60)[:-1])
