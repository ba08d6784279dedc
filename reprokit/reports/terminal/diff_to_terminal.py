"""A comparison as lines for people: the answer, the first divergence, the largest errors.

Its own text is ASCII and text from the files is escaped, so the lines are safe on any terminal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reprokit.core.comparing import clock_metrics
from reprokit.core.comparing.difference import Comparison, Divergence, MetricSummary, NearbyRecord, Problem
from reprokit.core.json_values import MISSING
from reprokit.core.verdicts.rows import counted
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.format_values import error_text, relative_text, ulps_text, value_text
from reprokit.reports.tables import aligned

Paint = Callable[[str, str], str]
"""Text and one of ``good``, ``bad``, ``odd``, ``title`` → the text, coloured or not."""

_MAX_METRICS = 15
_MAX_PROBLEMS = 20
_VALUE_WIDTH = 26
_TONES = {"error": "bad", "difference": "bad", "warning": "odd"}


def diff_to_terminal(
    comparison: Comparison,
    *,
    expected: str,
    actual: str,
    context: Sequence[NearbyRecord] = (),
    of_machine: Mapping[str, str] | None = None,
    width: int = 80,
    paint: Paint = lambda text, _tone: text,
) -> str:
    """The result of a comparison as lines of ``width`` columns, the records around the divergence too.

    ``of_machine`` are differing metrics that measure clocks or memory, each with its kind.
    """
    lines = [
        headline(comparison, paint=paint),
        f"  expected: {one_line(expected)}",
        f"  actual:   {one_line(actual)}",
    ]
    if comparison.divergence is not None:
        lines += ["", *_divergence(comparison.divergence, context, width=width, paint=paint)]
    if ranked(comparison.per_metric):
        lines += ["", *_errors(comparison.per_metric, width=width, paint=paint)]
    if of_machine:
        lines += ["", *_of_machine(comparison, of_machine, paint=paint)]
    if comparison.problems:
        lines += ["", *_problems(comparison.problems, paint=paint)]
    lines += ["", _scope(comparison)]
    return "\n".join(lines) + "\n"


def headline(comparison: Comparison, *, paint: Paint = lambda text, _tone: text) -> str:
    """The answer in one line."""
    divergence = comparison.divergence
    if not comparison.comparable:
        first = next((problem for problem in comparison.problems if problem.severity == "error"), None)
        why = f": {one_line(first.message)}" if first else ""
        return f"{paint('CANNOT COMPARE', 'bad')}{why}"
    if comparison.identical:
        return f"{paint('IDENTICAL', 'good')}: equal in every value"
    if comparison.within_tolerance:
        return f"{paint('WITHIN TOLERANCE', 'good')}: values differ, none by more than the tolerance"
    where = f": first at {_place(divergence)}" if divergence else ""
    return f"{paint('DIFFERS', 'bad')}{where}"


def ranked(per_metric: Mapping[str, MetricSummary]) -> list[str]:
    """The metrics that are not equal throughout, the largest error first."""
    wrong = {name: one for name, one in per_metric.items() if one.mismatches or one.max_abs_error}
    return sorted(wrong, key=lambda name: _rank(wrong[name]), reverse=True)


def _place(divergence: Divergence) -> str:
    step = "" if divergence.step is None else f"step {value_text(divergence.step)} "
    record = f"(record {divergence.record:,})" if step else f"record {divergence.record:,}"
    inside = divergence.what.partition(", at ")[2]
    metric = f", metric {_cut(one_line(f'{divergence.metric}{inside}'), limit=120)}"
    metric = "" if divergence.metric is None else metric
    return f"{step}{record}{metric}"


def _divergence(
    divergence: Divergence, context: Sequence[NearbyRecord], *, width: int, paint: Paint
) -> Iterator[str]:
    yield paint("First divergence", "title")
    yield f"  {one_line(divergence.what)}"
    sizes = {
        "absolute error": error_text(divergence.abs_error),
        "relative error": relative_text(divergence.rel_error),
        "ulps": ulps_text(divergence.ulps),
    }
    errors = [f"{label} {text}" for label, text in sizes.items() if text]
    if divergence.metric is not None:
        yield f"  expected {_value(divergence.expected, limit=width)}"
        yield f"  actual   {_value(divergence.actual, limit=width)}"
    if errors:
        yield f"  {', '.join(errors)}"
    if context:
        yield from ("", "  around it (> is the divergence):")
        yield from _context(context, paint=paint)


def _context(context: Sequence[NearbyRecord], *, paint: Paint) -> Iterator[str]:
    rows = [
        (
            f"{row.record:,}",
            "-" if row.step is None else _cut(value_text(row.step), limit=20),
            _value(row.expected, limit=_VALUE_WIDTH),
            _value(row.actual, limit=_VALUE_WIDTH),
        )
        for row in context
    ]
    lines = aligned([("record", "step", "expected", "actual"), *rows], num_left=0)
    for text, row in zip(lines, (None, *context), strict=True):
        yield paint(f"> {text}", "bad") if row is not None and row.is_divergence else f"  {text}"


def _errors(per_metric: Mapping[str, MetricSummary], *, width: int, paint: Paint) -> Iterator[str]:
    yield paint("Largest errors", "title")
    names = ranked(per_metric)
    rows = [
        (
            _cut(one_line(name), limit=max(12, width - 52)),
            _error(one, one.max_abs_error),
            _error(one, one.max_rel_error),
            f"{one.mismatches:,}",
            "-" if one.first_step is None else _cut(value_text(one.first_step), limit=14),
        )
        for name in names[:_MAX_METRICS]
        for one in [per_metric[name]]
    ]
    head = ("metric", "max abs", "max rel", "mismatches", "first step")
    yield from (f"  {text}" for text in aligned([head, *rows], num_left=1))
    if len(names) > _MAX_METRICS:
        yield f"  and {len(names) - _MAX_METRICS:,} more metrics"


def _of_machine(comparison: Comparison, kinds: Mapping[str, str], *, paint: Paint) -> Iterator[str]:
    """Which differing metrics measure the machine, how to leave them out, and what differs next to them."""
    bare = {name.rpartition(":")[2]: kind for name, kind in kinds.items()}
    yield paint("Clocks and memory", "title")
    yield f"  judging by name and form, not results of the training: {one_line(clock_metrics.sentence(bare))}"
    yield f"  to leave them out: {one_line(clock_metrics.options(bare))}"
    rest = [name for name in ranked(comparison.per_metric) if name not in kinds]
    is_odd = any(problem.severity != "warning" for problem in comparison.problems)
    if rest:
        first = [
            f"{_cut(one_line(name), limit=60)}"
            + ("" if step is None else f" (first at step {value_text(step)})")
            for name in rest[:_MAX_METRICS]
            for step in [comparison.per_metric[name].first_step]
        ]
        more = f" and {len(rest) - _MAX_METRICS:,} more" if len(rest) > _MAX_METRICS else ""
        yield f"  other metrics that differ: {', '.join(first)}{more}"
    else:
        yield f"  no other value differs{', but see the problems' if is_odd else ''}"


def _error(summary: MetricSummary, error: float | None) -> str:
    return "-" if error is None or _is_no_number(summary) else error_text(error)


def _is_no_number(summary: MetricSummary) -> bool:
    """Whether a metric differs, but not by a number: a type, a NaN, a sign of zero, a missing value."""
    return summary.mismatches > 0 and not summary.max_abs_error


def _rank(summary: MetricSummary) -> tuple[float, int]:
    """A difference that is not a number counts as infinite."""
    error = summary.max_rel_error if summary.max_rel_error is not None else summary.max_abs_error
    return (math.inf if error is None or _is_no_number(summary) else error), summary.mismatches


def _problems(problems: Sequence[Problem], *, paint: Paint) -> Iterator[str]:
    yield paint("Problems", "title")
    for problem in problems[:_MAX_PROBLEMS]:
        line = "" if problem.line is None else f" line {problem.line:,}"
        tone = _TONES.get(problem.severity, "odd")
        word = paint(problem.severity, tone)
        yield f"  {word}: {problem.kind}, {problem.side}{line}: {one_line(problem.message)}"
    if len(problems) > _MAX_PROBLEMS:
        yield f"  and {len(problems) - _MAX_PROBLEMS:,} more problems"


def _scope(comparison: Comparison) -> str:
    metrics = counted(comparison.metrics_compared, "metric")
    return f"Compared {counted(comparison.records_compared, 'record')} of {metrics}."


def _value(value: Any, *, limit: int) -> Visible:
    if value is MISSING:
        return Visible("(missing)")
    if isinstance(value, dict):
        return Visible(f"(a record of {len(value):,} values)")
    return _cut(value_text(value), limit=limit)


def _cut(text: Visible, *, limit: int) -> Visible:
    return text if len(text) <= limit else Visible(f"{text[: limit - 3]}...")
