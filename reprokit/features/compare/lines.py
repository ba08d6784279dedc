"""The answer of ``compare`` as lines for a terminal, and the facts that its page shows too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.core.verdicts.rows import counted
from reprokit.features.compare.answer import SIDES, Answer
from reprokit.reports.escaping import one_line
from reprokit.reports.format_values import error_text, relative_text, ulps_text
from reprokit.reports.tables import aligned, shown
from reprokit.reports.terminal.terminal_lines import place_lines, with_commands, wrapped
from reprokit.reports.terminal.terminal_style import Style
from reprokit.reports.terminal.terminal_text import columns_of, table_lines

_WIDE = 400
_WHOLE = 10_000  # columns of what is not broken
_INDENT = "  "
_MOST_SHOWN = 12
_FACTS = ("python", "cpu", "packages", "variant", "backend")


def answer_lines(answer: Answer, *, style: Style) -> Iterator[str]:
    """The answer, the sides, what differs, and how far each metric is off; broken on a terminal only."""
    width = style.width if style.is_terminal else _WHOLE
    word = str(answer.answer or "not run").upper()
    yield from with_commands(one_line(f"{word}: {answer.sentence}"), width=width)
    if answer.hint:
        yield from with_commands(one_line(answer.hint), width=width, lead="Hint: ")
    for name in SIDES:
        side = answer.sides[name]
        count = counted(len(side.runs), "run") if side.runs else "not run"
        yield from wrapped(f"{one_line(side.what)}  ({count})", width=width, lead=f"  {name}  ")
    for name, text in first_facts(answer.as_data()):
        yield from wrapped(one_line(text), width=width, lead=f"  {name}: ")
    if answer.what_differs:
        yield "What differs between the sides:"
        listed = answer.what_differs[:_MOST_SHOWN]
        yield from _table([(one["kind"], one["what"]) for one in listed], width=width)
        if len(answer.what_differs) > len(listed):
            yield f"  and {len(answer.what_differs) - len(listed)} more: --json has them"
    rows = [row for row in metric_rows(answer.metrics) if row[1] != "0"][:_MOST_SHOWN]
    if rows:
        rows = [("metric", "differ", "first step", "largest", "relative"), *rows]
        has_room = max(map(columns_of, aligned(rows))) <= width - len(_INDENT)
        yield from _table(rows if has_room else [row[:-1] for row in rows], width=width)
    for note in answer.notes:
        yield from wrapped(one_line(note), width=width, lead="Note: ")


def _table(rows: Sequence[Sequence[str]], *, width: int) -> Iterator[str]:
    cells = [[shown(cell, limit=_WIDE) for cell in row] for row in rows]
    for lines in table_lines(cells, width=width - len(_INDENT)):
        yield from (f"{_INDENT}{line}" for line in lines)


def report_lines(folder: Path, *, style: Style) -> list[str]:
    """Where the page is."""
    path = f"{shown(str(folder).removeprefix(f'{Path.cwd()}/'), limit=_WIDE)}/report.html"
    return place_lines("Report:", path, width=style.width) if style.is_terminal else [f"Report: {path}"]


def first_facts(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where the sides first differ, as pairs of name and text; none where they do not."""
    first, trace = answer["first"], answer["trace"]
    found: list[tuple[str, str]] = []
    if first is not None:
        place = f"record {first['record']}" + ("" if first["step"] is None else f", step {first['step']}")
        found += [("first difference", f"{place}: {first['metric'] or first['what']}")]
        if first["metric"] is not None:
            found += [("a", fact_text(first["expected"])), ("b", fact_text(first["actual"]))]
        apart = {
            "apart": error_text(first["abs_error"]),
            "relative": relative_text(first["rel_error"]),
            "ulps": ulps_text(first["ulps"]),
        }
        found += [(name, text) for name, text in apart.items() if text]
    if trace is not None:
        what = trace.get("place") or trace.get("what")
        found += [("first in the trace", f"step {trace.get('step')}: {what}")]
    return found


def metric_rows(metrics: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Name, records that differ, first step, largest difference and relative one; those that differ first."""
    names = sorted(metrics, key=lambda name: (not metrics[name]["mismatches"], name))
    return [
        (
            name,
            str(metrics[name]["mismatches"]),
            fact_text(metrics[name]["first_step"]),
            error_text(metrics[name]["max_abs_error"]),
            relative_text(metrics[name]["max_rel_error"]),
        )
        for name in names
    ]


def seed_rows(statistical: Mapping[str, Any] | None) -> list[tuple[str, ...]]:
    """Metric, mean of each side, their difference with its limits, and the margin; none where bits count."""
    looks = statistical["outcome"]["looks"] if statistical else ()
    return [
        (
            one["name"],
            *(_rounded(one[key]) for key in ("reference_mean", "new_mean")),
            _with_limits(*(one[key] for key in ("difference", "difference_low", "difference_high"))),
            _rounded(one["margin"]),
        )
        for one in (looks[-1]["metrics"] if looks else ())
    ]


def _with_limits(value: Any, low: Any, high: Any) -> str:
    return f"{_rounded(value)} [{_rounded(low)}, {_rounded(high)}]"


def _rounded(value: Any) -> str:
    """Six digits; report.json has them all."""
    return f"{value:.6g}" if isinstance(value, float) else fact_text(value)


def fact_text(value: Any) -> str:
    """A value in a cell."""
    if value is None:
        return "-"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={one}" for name, one in value.items())
    return repr(value) if isinstance(value, float) else str(value)
