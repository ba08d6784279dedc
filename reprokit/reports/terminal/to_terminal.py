"""A report as text: tables on a terminal, plain lines elsewhere.

A status is always a word; colour only repeats it. Every plain line starts with a fixed word, so that ``grep``
finds it and no text of a program can start a line (CI runners act on such lines).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reprokit.core.checklist import Report, Status
from reprokit.reports.escaping import Visible
from reprokit.reports.format_values import Facts
from reprokit.reports.formats.report_content import Compared, Outline, ReportRow, outline
from reprokit.reports.pages.cause import cause_facts
from reprokit.reports.terminal.plain_summary import plain_lines, row_line
from reprokit.reports.terminal.row_groups import gathered, harmless, that_apply, that_matter
from reprokit.reports.terminal.terminal_style import (
    STATUS_COLOURS,
    TONE_COLOURS,
    Style,
    console_of,
    draw_lines,
    style_of,
    writable,
)
from reprokit.reports.terminal.terminal_summary import summary

_WIDE = 140
_MAX_SHOWN = 15


def show(report: Report, *, stream: TextIO | None = None, verbose: bool = False) -> None:
    """Write the report to a stream (standard output), in the style that it can show."""
    stream = stream or sys.stdout
    stream.write(to_terminal(report, style=style_of(stream, environ=os.environ), verbose=verbose))
    stream.flush()


def to_terminal(report: Report, *, style: Style, verbose: bool = False) -> str:
    """The report as text that ends with a line end: one screen, or ten plain lines; all if ``verbose``."""
    found = outline(report)
    if style.is_terminal:
        text = (
            _drawn(found, style)
            if verbose
            else draw_lines(summary(found, width=style.width), style=style, tone=found.tone)
        )
    else:
        lines = _all_plain_lines(found) if verbose else plain_lines(found)
        text = "".join(f"{line}\n" for line in lines)
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
    for name, command in (("run again", found.rerun), ("next", found.next_command)):
        if command:
            yield f"{name}: {command}"


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


def _drawn(found: Outline, style: Style) -> str:
    console = console_of(style)
    with console.capture() as captured:
        _draw_verdict(console, found)
        _draw_not_run(console, found)
        _draw_checklist(console, found)
        _draw_facts(console, "First divergence", found.divergence)
        _draw_facts(console, "Cause", cause_facts(found.cause))
        _draw_errors(console, found.comparisons)
        for title, facts in found.explanations:
            _draw_facts(console, title, facts)
        _draw_differences(console, found)
        _draw_command(console, "Run it again", found.rerun)
        _draw_command(console, "Next", found.next_command)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().split("\n")).rstrip("\n") + "\n"


def _draw_verdict(console: Console, found: Outline) -> None:
    line = Text(found.verdict.value, style=TONE_COLOURS[found.tone])
    line.append(f"  {found.recipe} · {found.platform} · seed {found.seed}", style="not bold default")
    console.print(line)
    console.print(Text(found.sentence))


def _draw_not_run(console: Console, found: Outline) -> None:
    _draw_facts(console, "What happened", found.not_run)
    if found.log_tail:
        _draw_title(console, "The end of its log")
        for line in found.log_tail[-_MAX_SHOWN:]:
            console.print(Padding(Text(f"│ {line}", style="dim"), (0, 0, 0, 2)))


def _draw_checklist(console: Console, found: Outline) -> None:
    _draw_title(console, f"Checklist: {found.counts}")
    is_wide = console.width >= _WIDE
    table = _table("Status", "Check", *(("Id", "Why", "Hint") if is_wide else ("Why",)))
    table.columns[0].no_wrap = True
    table.columns[1].max_width = console.width // 3
    shown, others = that_apply(found)
    for row in shown:
        status = Text(row.status.value, style=STATUS_COLOURS[row.status])
        table.add_row(status, *(_wide_cells(row) if is_wide else _narrow_cells(row)))
    if shown:
        console.print(table)
    for reason, ids in others.items():
        skipped = Text(gathered(reason, ids), style="dim")
        console.print(Padding(skipped, (0, 0, 0, 2)))


def _wide_cells(row: ReportRow) -> tuple[Text, ...]:
    title = f"{row.title}{'' if row.required else ' (advisory)'}"
    return Text(title), Text(row.id, style="dim"), Text(row.reason), Text(row.remedy)


def _narrow_cells(row: ReportRow) -> tuple[Text, ...]:
    """The id is shown only if the row did not pass."""
    title, why = Text(row.title), Text(row.reason)
    if row.status is not Status.PASSED:
        title.append(f"\n{row.id}{'' if row.required else ' (advisory)'}", style="dim")
    if row.remedy:
        why.append(f"\n→ {row.remedy}", style="cyan")
    return title, why


def _draw_errors(console: Console, comparisons: Sequence[Compared]) -> None:
    for comparison in comparisons:
        if not comparison.metrics and not comparison.problems:
            continue
        _draw_title(console, f"{comparison.title}: {comparison.summary}")
        table = _table("Metric", "Mismatches", "First step", "Max abs", "Max rel")
        for column in table.columns[1:]:
            column.justify, column.no_wrap = "right", True
        for row in comparison.metrics[:_MAX_SHOWN]:
            table.add_row(
                *map(Text, (row.metric, row.mismatches, row.first_step, row.max_abs_error, row.max_rel_error))
            )
        if comparison.metrics:
            console.print(table)
        _draw_cut(console, len(comparison.metrics) + comparison.num_cut - _MAX_SHOWN, "metrics")
        for problem in comparison.problems[:_MAX_SHOWN]:
            console.print(Padding(Text(problem), (0, 0, 0, 2)))


def _draw_differences(console: Console, found: Outline) -> None:
    mattering, num_cut, num_harmless = that_matter(found)
    if not found.differences:
        return
    _draw_title(console, "Environment compared with the golden's")
    if not mattering:
        console.print(Text(f"  {harmless(num_harmless)}", style="dim"))
        return
    is_wide = console.width >= _WIDE
    effect = ("Can change numbers", "Why") if is_wide else ("Can matter",)
    table = _table("Field", "Golden", "Now", *effect)
    for row in mattering[:_MAX_SHOWN]:
        cells = (row.field, row.expected, row.actual, row.effect, *([row.why] if is_wide else []))
        table.add_row(*map(Text, cells))
    console.print(table)
    _draw_cut(console, len(mattering) + num_cut - _MAX_SHOWN, "fields")
    if num_harmless:
        console.print(Text(f"  {harmless(num_harmless)}", style="dim"))


def _draw_facts(console: Console, title: str, facts: Facts) -> None:
    if not facts:
        return
    _draw_title(console, title)
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for label, value in facts:
        grid.add_row(Text(label), Text(value))
    console.print(Padding(grid, (0, 0, 0, 2)))


def _draw_command(console: Console, title: str, command: Visible) -> None:
    """On one line, however long, so that it can be copied."""
    if command:
        _draw_title(console, title)
        console.print(Text(f"  {command}", style="bold cyan"), soft_wrap=True)


def _draw_cut(console: Console, num_cut: int, what: str) -> None:
    if num_cut > 0:
        console.print(Text(f"  {num_cut:,} more {what} in the report folder", style="dim"))


def _draw_title(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _table(*names: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        table.add_column(name, overflow="fold")
    return table
