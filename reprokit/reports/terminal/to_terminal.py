"""A report as text: tables on a terminal, plain lines elsewhere.

A status is always a word; colour only repeats it. Every plain line starts with a fixed word, so that ``grep``
finds it and no text of a program can start a line (CI runners act on such lines).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TextIO

from reprokit.core.checklist import Report, Status
from reprokit.reports.formats.report_content import Compared, Outline, ReportRow, outline, outline_elsewhere
from reprokit.reports.pages.cause import cause_facts
from reprokit.reports.terminal.plain_summary import plain_lines, row_line
from reprokit.reports.terminal.row_groups import gathered, harmless, that_apply, that_matter
from reprokit.reports.terminal.terminal_lines import TerminalLine, cut, fact_lines, wrapped
from reprokit.reports.terminal.terminal_style import Style, draw_lines, style_of, writable
from reprokit.reports.terminal.terminal_summary import summary
from reprokit.reports.terminal.terminal_text import columns_of, table_lines

_WIDE = 140
_MAX_SHOWN = 15


def show(report: Report, *, stream: TextIO | None = None, verbose: bool = False) -> None:
    """Write the report to a stream (standard output), in the style that it can show."""
    stream = stream or sys.stdout
    style, in_job = style_of(stream, environ=os.environ), os.environ.get("GITHUB_ACTIONS") == "true"
    stream.write(to_terminal(report, style=style, verbose=verbose, in_job=in_job))
    stream.flush()


def to_terminal(report: Report, *, style: Style, verbose: bool = False, in_job: bool = False) -> str:
    """The report as text that ends with a line end: one screen, or ten plain lines; all if ``verbose``.

    Who reads the log of a job (``in_job``) has not its runs.
    """
    found = outline_elsewhere(report) if in_job else outline(report)
    if style.is_terminal:
        lines = list(_whole(found, style.width)) if verbose else summary(found, width=style.width)
        text = draw_lines(lines, style=style, tone=found.tone)
    else:
        plain = _all_plain_lines(found) if verbose else plain_lines(found)
        text = "".join(f"{line}\n" for line in plain)
    return writable(text, style=style)


def _all_plain_lines(found: Outline) -> Iterator[str]:
    yield f"verdict: {found.verdict.value} (exit code {found.exit_code})"
    yield f"why: {found.sentence}"
    for label, value in found.subject:
        yield f"{label}: {value}"
    for label, value in found.not_run:
        yield f"not run: {label}: {value}"
    for line in found.log_tail:
        yield f"log: {line}"
    yield from _plain_rows(found)
    for label, value in found.divergence:
        yield f"first divergence: {label}: {value}"
    for label, value in cause_facts(found.cause):
        yield f"cause: {label}: {value}"
    for comparison in found.comparisons:
        yield f"compared: {comparison.title}: {comparison.summary}"
        yield from (f"problem: {comparison.title}: {problem}" for problem in comparison.problems)
    for title, facts in found.explanations:
        yield from (f"{title.lower()}: {label}: {value}" for label, value in facts)
    yield from _plain_differences(found)
    yield from _plain_sections(found)
    for name, command in (("run again", found.rerun), ("next", found.next_command)):
        if command:
            yield f"{name}: {command}"


def _plain_sections(found: Outline) -> Iterator[str]:
    for one in found.sections:
        yield f"section: {one.title}: {one.note}"
        yield from (f"section: {one.title}: {text}" for text in one.paragraphs)
        for head, *rows in one.tables:
            for row in rows:
                told = ", ".join(f"{name}: {cell}" for name, cell in zip(head, row, strict=True))
                yield f"section: {one.title}: {told}"


def _plain_differences(found: Outline) -> Iterator[str]:
    mattering, num_cut, num_harmless = that_matter(found)
    for row in mattering:
        effect = f"can change numbers: {row.effect}" + (f": {row.why}" if row.why else "")
        yield f"environment: {row.field}: golden {row.expected}, now {row.actual} ({effect})"
    if num_cut:
        yield f"environment: {num_cut} more fields in the report folder"
    if num_harmless:
        yield f"environment: {harmless(num_harmless)}"


def _plain_rows(found: Outline) -> Iterator[str]:
    rows, others = that_apply(found)
    for row in rows:
        yield row_line(row)
        if row.remedy:
            yield f"hint: {row.id}: {row.remedy}"
    for reason, ids in others.items():
        yield f"check: {gathered(reason, ids)}"
    yield f"checks: {found.counts}"


def _whole(found: Outline, width: int) -> Iterator[TerminalLine]:
    about = f"{found.recipe} · {found.platform} · seed {found.seed}"
    for text in wrapped(about, width=width, lead=f"{found.verdict.value}  "):
        yield TerminalLine(text=text, tone="verdict")
    yield from _paragraph(found.sentence, width=width)
    yield from fact_lines("What happened", found.not_run, width=width, most=len(found.not_run))
    if found.log_tail:
        yield from _title("The end of its log", width=width)
        for line in found.log_tail[-_MAX_SHOWN:]:
            yield TerminalLine(text=cut(f"  │ {line}", width=width), tone="dim")
    yield from _checklist(found, width=width)
    for title, facts in (("First divergence", found.divergence), ("Cause", cause_facts(found.cause))):
        yield from fact_lines(title, facts, width=width, most=len(facts))
    yield from _errors(found.comparisons, width=width)
    for title, facts in found.explanations:
        yield from fact_lines(title, facts, width=width, most=len(facts))
    yield from _differences(found, width=width)
    yield from _sections(found, width=width)
    for title, command in (("Run it again", found.rerun), ("Next", found.next_command)):
        if command:  # on one line, however long, so that it can be copied
            yield from _title(title, width=width)
            yield TerminalLine(text=f"  {command}", tone="command")


def _checklist(found: Outline, *, width: int) -> Iterator[TerminalLine]:
    yield from _title(f"Checklist: {found.counts}", width=width)
    is_wide = width >= _WIDE
    names = ("Status", "Check", *(("Id", "Why", "Hint") if is_wide else ("Why",)))
    shown, others = that_apply(found)
    rows = [(row.status.value, *(_wide_cells(row) if is_wide else _narrow_cells(row))) for row in shown]
    yield from _table(names, rows, width=width, statuses=[row.status for row in shown])
    for reason, ids in others.items():
        yield from _paragraph(gathered(reason, ids), width=width, lead="  ", tone="dim")


def _wide_cells(row: ReportRow) -> tuple[str, ...]:
    return f"{row.title}{'' if row.required else ' (advisory)'}", row.id, row.reason, row.remedy


def _narrow_cells(row: ReportRow) -> tuple[str, ...]:
    """The id is shown only if the row did not pass."""
    advisory = "" if row.required else " (advisory)"
    title = row.title if row.status is Status.PASSED else f"{row.title}\n{row.id}{advisory}"
    return title, f"{row.reason}\n→ {row.remedy}" if row.remedy else row.reason


def _errors(comparisons: Sequence[Compared], *, width: int) -> Iterator[TerminalLine]:
    for comparison in comparisons:
        if not comparison.metrics and not comparison.problems:
            continue
        yield from _title(f"{comparison.title}: {comparison.summary}", width=width)
        names = ("Metric", "Mismatches", "First step", "Max abs", "Max rel")
        rows = [
            (row.metric, row.mismatches, row.first_step, row.max_abs_error, row.max_rel_error)
            for row in comparison.metrics[:_MAX_SHOWN]
        ]
        yield from _table(names, rows, width=width, num_left=1)
        yield from _cut_off(len(comparison.metrics) + comparison.num_cut - _MAX_SHOWN, "metrics")
        for problem in comparison.problems[:_MAX_SHOWN]:
            yield from _paragraph(problem, width=width, lead="  ")


def _differences(found: Outline, *, width: int) -> Iterator[TerminalLine]:
    mattering, num_cut, num_harmless = that_matter(found)
    if not found.differences:
        return
    yield from _title("Environment compared with the golden's", width=width)
    is_wide = width >= _WIDE
    names = ("Field", "Golden", "Now", *(("Can change numbers", "Why") if is_wide else ("Can matter",)))
    rows = [
        (row.field, row.expected, row.actual, row.effect, *([row.why] if is_wide else []))
        for row in mattering[:_MAX_SHOWN]
    ]
    yield from _table(names, rows, width=width)
    yield from _cut_off(len(mattering) + num_cut - _MAX_SHOWN, "fields")
    if num_harmless:
        yield from _paragraph(harmless(num_harmless), width=width, lead="  ", tone="dim")


def _sections(found: Outline, *, width: int) -> Iterator[TerminalLine]:
    for one in found.sections:
        yield from _title(one.title, width=width)
        yield from _paragraph(one.note, width=width, lead="  ", tone="dim")
        for text in one.paragraphs:
            yield from _paragraph(text, width=width, lead="  ")
        for head, *rows in one.tables:
            yield from _table(head, rows, width=width)


def _table(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int,
    num_left: int | None = None,
    statuses: Sequence[Status] = (),
) -> Iterator[TerminalLine]:
    """The names of the columns, a rule and the rows; nothing where there is no row."""
    if not rows:
        return
    head, *others = table_lines([names, *rows], width=width, num_left=num_left)
    yield from (TerminalLine(text=text, tone="dim") for text in head)
    widest = max(columns_of(text) for lines in (head, *others) for text in lines)
    yield TerminalLine(text="─" * widest, tone="dim")
    for lines, status in zip_longest(others, statuses):
        yield from (TerminalLine(text=text, status=status) for text in lines)


def _paragraph(text: str, *, width: int, lead: str = "", tone: str = "") -> Iterator[TerminalLine]:
    return (TerminalLine(text=line, tone=tone) for line in wrapped(text, width=width, lead=lead))


def _cut_off(num_cut: int, what: str) -> Iterator[TerminalLine]:
    if num_cut > 0:
        yield TerminalLine(text=f"  {num_cut:,} more {what} in the report folder", tone="dim")


def _title(title: str, *, width: int) -> Iterator[TerminalLine]:
    yield TerminalLine(text="")
    yield from _paragraph(title, width=width, tone="title")
