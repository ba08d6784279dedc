"""What a new golden changes, as lines for a terminal and as Markdown for a pull request.

Every ``found`` is a ``harness.curation`` answer, ``GoldenDiff``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from reprokit.core.comparison import to_json
from reprokit.reports.escaping import markdown, markdown_code, one_line
from reprokit.reports.format_values import error_text, json_number, spelt, value_text
from reprokit.reports.tables import aligned

_SHOWN = 20


def headline(found: Any) -> str:
    """How many metrics changed, and from which step on."""
    if found.comparison.identical:
        return "no number changed"
    first = found.comparison.divergence
    where = f", first at step {value_text(first.step)}" if first else ""
    return f"{len(found.moved)} of {found.comparison.metrics_compared} metrics changed{where}"


def to_data(found: Any) -> dict[str, Any]:
    """The difference for ``--json``."""
    facts = ("created_at", "reason", "runs_agreed")
    return {
        **{key: getattr(found.new, key) for key in ("recipe", "platform", "seed")},
        "old": {key: getattr(found.old, key) for key in facts},
        "new": {key: getattr(found.new, key) for key in facts},
        "moved": [{key: json_number(value) for key, value in asdict(one).items()} for one in found.moved],
        "settings": list(found.settings),
        "inputs": list(found.inputs),
        "environment": [dict(row) for row in found.environment],
        "follows": found.follows,
        "comparison": to_json(found.comparison),
    }


def stale_data(found: Any) -> dict[str, Any]:
    """The same of every golden of a ``StaleGoldens``, for ``--json``."""
    return {
        "promoted": found.written,
        "goldens": [to_data(one) for one in found.moved],
        "left": [{"golden": name, "because": why} for name, why in found.left],
    }


def to_terminal(found: Any) -> str:
    """Lines of text, each ended."""
    subject = f"{found.new.recipe}  {found.new.platform}  seed {found.new.seed}"
    lines = [f"{one_line(subject)}: {headline(found)}"]
    lines += [f"  {label:<12} {one_line(value)}" for label, value in _facts(found)]
    head = ("metric", "records", "from step", "max abs", "max rel", "final old", "final new")
    rows = [head, *_cells(found)]
    if len(rows) > 1:
        lines += ["", *(f"  {line}" for line in aligned(rows))]
    lines += _cut(found)
    lines += [
        f"  {one_line(problem.kind)}: {one_line(problem.message)}" for problem in found.comparison.problems
    ]
    return "".join(f"{line}\n" for line in lines)


def to_markdown(found: Any) -> str:
    """A section for a pull request."""
    recipe, platform = (markdown_code(one_line(one)) for one in (found.new.recipe, found.new.platform))
    lines = [f"### Golden of {recipe} on {platform}, seed {found.new.seed}: {headline(found)}", ""]
    lines += [f"- **{label}**: {markdown(one_line(value))}" for label, value in _facts(found)]
    cells = list(_cells(found))
    if cells:
        head = ("Metric", "Records", "From step", "Max abs", "Max rel", "Final, old", "Final, new")
        lines += ["", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
        for row in cells:
            lines.append(f"| {' | '.join(markdown_code(one_line(cell)) for cell in row)} |")
    lines += [line.strip() for line in _cut(found)]
    lines += [f"- {markdown(one_line(problem.message))}" for problem in found.comparison.problems]
    return "".join(f"{line}\n" for line in lines)


def stale_lines(found: Any) -> Iterator[str]:
    """What moved in every golden of a ``StaleGoldens``, as one table; then what stays, and why."""
    if found.moved:
        head = ("golden", "metrics moved", "from step", "max abs", "max rel", "furthest", "environment")
        yield from aligned([head, *map(_moved_cells, found.moved)])
    for name, why in found.left:
        yield f"{one_line(name)} stays: {one_line(why)}"


def _moved_cells(found: Any) -> tuple[str, ...]:
    first, compared = found.comparison.divergence, found.comparison.metrics_compared
    furthest = found.moved[0] if found.moved else None
    fields = [one_line(row["field"]) for row in found.environment]
    more = f" and {len(fields) - 2} more" if fields[2:] else ""
    return (
        one_line(f"{found.new.recipe}/{found.new.platform}/seed-{found.new.seed}"),
        f"{len(found.moved)} of {compared}",
        value_text(first.step) if first else "-",
        (error_text(furthest.max_abs_error) if furthest else "") or "-",
        (error_text(furthest.max_rel_error) if furthest else "") or "-",
        one_line(furthest.metric) if furthest else "-",
        ", ".join(fields[:2]) + more if fields else "-",
    )


def _facts(found: Any) -> Iterator[tuple[str, str]]:
    yield "why", found.new.reason
    yield "promoted", f"{found.old.created_at} → {found.new.created_at}"
    yield "runs agreed", f"{found.old.runs_agreed} → {found.new.runs_agreed}"
    for setting in found.settings:
        yield "setting", setting
    if found.inputs:
        yield "also changed", ", ".join(found.inputs)
    if not found.settings and not found.inputs and not found.comparison.identical:
        yield "also changed", "no recorded input"
    for row in found.environment[:_SHOWN]:
        values = f"{spelt(row['expected'])} → {spelt(row['actual'])}"
        yield "environment", f"{row['field']} {values} ({row['why']})"
    if not found.follows:
        yield "note", "the new golden did not replace the old one: there was another in between"
    first = found.comparison.divergence
    if first is not None and first.metric is not None:
        values = f"{value_text(first.expected)} → {value_text(first.actual)}"
        yield "first differs", f"step {value_text(first.step)}, {first.metric}: {values}"


def _cells(found: Any) -> Iterator[tuple[str, ...]]:
    for row in found.moved[:_SHOWN]:
        yield (
            one_line(row.metric),
            f"{row.records:,}",
            value_text(row.first_step),
            error_text(row.max_abs_error) or "-",
            error_text(row.max_rel_error) or "-",
            value_text(row.final_old),
            value_text(row.final_new),
        )


def _cut(found: Any) -> list[str]:
    more = len(found.moved) - _SHOWN
    return ["", f"  {more} more metrics changed (--json has all)"] if more > 0 else []
