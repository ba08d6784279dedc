"""What a new golden changes, as lines for a terminal and as Markdown for a pull request.

>>> print(to_markdown(found).splitlines()[0])
### Golden of `cartpole_baseline` on `cpu-x86_64`, seed 42: 18 of 18 metrics moved
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from reprokit.core.comparison import Comparison, to_json
from reprokit.reports.escaping import markdown, markdown_code, one_line
from reprokit.reports.format_values import error_text, json_number, spelt, value_text

_SHOWN = 20


class Shape(Protocol):
    """What is drawn; ``harness.GoldenDiff`` says what each part means."""

    @property
    def old(self) -> Any: ...
    @property
    def new(self) -> Any: ...
    @property
    def comparison(self) -> Comparison: ...
    @property
    def moved(self) -> Sequence[Any]: ...
    @property
    def settings(self) -> Sequence[str]: ...
    @property
    def inputs(self) -> Sequence[str]: ...
    @property
    def environment(self) -> Sequence[Any]: ...
    @property
    def follows(self) -> bool: ...


def headline(found: Shape) -> str:
    """How many metrics moved, and from where on."""
    if found.comparison.identical:
        return "no number moved"
    first = found.comparison.divergence
    where = f", first at step {value_text(first.step)}" if first else ""
    return f"{len(found.moved)} of {found.comparison.metrics_compared} metrics moved{where}"


def to_data(found: Shape) -> dict[str, Any]:
    """The difference for ``--json``."""
    facts = ("created_at", "reason", "runs_agreed")
    return {
        **{key: found.new[key] for key in ("recipe", "platform", "seed")},
        "old": {key: found.old[key] for key in facts},
        "new": {key: found.new[key] for key in facts},
        "moved": [{key: json_number(value) for key, value in asdict(one).items()} for one in found.moved],
        "settings": list(found.settings),
        "inputs": list(found.inputs),
        "environment": [dict(row) for row in found.environment],
        "follows": found.follows,
        "comparison": to_json(found.comparison),
    }


def to_terminal(found: Shape) -> str:
    """Lines of text, each ended."""
    subject = f"{found.new['recipe']}  {found.new['platform']}  seed {found.new['seed']}"
    lines = [f"{one_line(subject)}: {headline(found)}"]
    lines += [f"  {label:<12} {one_line(value)}" for label, value in _facts(found)]
    rows = [
        ("metric", "records", "from step", "max abs", "max rel", "final old", "final new"),
        *_cells(found),
    ]
    if len(rows) > 1:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines.append("")
        lines += [
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
    lines += _cut(found)
    lines += [
        f"  {one_line(problem.kind)}: {one_line(problem.message)}" for problem in found.comparison.problems
    ]
    return "".join(f"{line}\n" for line in lines)


def to_markdown(found: Shape) -> str:
    """A section for a pull request."""
    recipe, platform = (markdown_code(one_line(found.new[key])) for key in ("recipe", "platform"))
    lines = [f"### Golden of {recipe} on {platform}, seed {found.new['seed']}: {headline(found)}", ""]
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


def _facts(found: Shape) -> Iterator[tuple[str, str]]:
    yield "why", str(found.new["reason"])
    yield "blessed", f"{found.old['created_at']} → {found.new['created_at']}"
    yield "runs agreed", f"{found.old['runs_agreed']} → {found.new['runs_agreed']}"
    for setting in found.settings:
        yield "setting", setting
    if found.inputs:
        yield "also new", ", ".join(found.inputs)
    if not found.settings and not found.inputs and not found.comparison.identical:
        yield "also new", "nothing that the numbers follow from, as far as it is recorded"
    for row in found.environment[:_SHOWN]:
        yield (
            "environment",
            f"{row['field']} {spelt(row['expected'])} → {spelt(row['actual'])} ({row['why']})",
        )
    if not found.follows:
        yield "note", "the new golden did not replace the old one: there was another between them"
    divergence = found.comparison.divergence
    if divergence is not None and divergence.metric is not None:
        yield (
            "they part",
            (
                f"step {value_text(divergence.step)}, {divergence.metric}: "
                f"{value_text(divergence.expected)} → {value_text(divergence.actual)}"
            ),
        )


def _cells(found: Shape) -> Iterator[tuple[str, ...]]:
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


def _cut(found: Shape) -> list[str]:
    more = len(found.moved) - _SHOWN
    return ["", f"  {more} more metrics moved (--json has all)"] if more > 0 else []
