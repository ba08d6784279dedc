"""What the answer says of two sides whose first runs were compared, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprokit.core.comparison import Comparison, Problem
from reprokit.core.problems import KINDS
from reprokit.core.verdicts.rows import counted

TOLD_OF_NAMES = {
    "missing_metric": "only side a has ",
    "extra_metric": "only side b has ",
    "renamed_metric": "a metric has another name on side b: ",
}
#: Of a difference so small that nothing else may be behind it.
ASK_ROUNDING = "`--rounding` says whether rounding alone does that, in up to 14 more runs"
_SMALL = 1e-3
_ONLY = "`--metric NAME` compares only the metrics that are named"


def extent(found: Comparison) -> str:
    """How much was compared."""
    records, metrics = found.records_compared, found.metrics_compared
    return f"{counted(records, 'record')} of {counted(metrics, 'metric')}"


def difference(found: Comparison, trace: Mapping[str, Any] | None) -> tuple[str, str]:
    """The sentence of a difference, and the hint."""
    if found.identical:
        told = trace or {}
        place = f"{told.get('place') or told.get('what')} differs from step {told.get('step')} on"
        return f"every metric is equal, and what was trained is not: {place}", ""
    kinds = {one.kind for one in found.problems if one.severity != "warning"}
    unequal = [name for name, one in found.per_metric.items() if one.max_abs_error]
    if kinds and kinds <= TOLD_OF_NAMES.keys() and not unequal:
        why = next(_of_sides(one) for one in found.problems if one.severity != "warning")
        return f"the metrics that both sides have are equal, but {why}", _ONLY
    return f"the sides differ {_first_place(found)}", ASK_ROUNDING if _is_small(found) else ""


def _is_small(found: Comparison) -> bool:
    """Whether the first value that differs is nearly the same on both sides."""
    first = found.divergence
    return first is not None and first.rel_error is not None and first.rel_error <= _SMALL


def _of_sides(problem: Problem) -> str:
    """A problem of names, told of a and b in place of files."""
    told = TOLD_OF_NAMES[problem.kind]
    return problem.message.replace(f"{KINDS[problem.kind][1]}: ", told)


def _first_place(found: Comparison) -> str:
    first = found.divergence
    if first is None:
        return next((one.message for one in found.problems if one.severity != "warning"), "somewhere")
    if first.metric is None:
        return f"from {first.place} on: {first.what}"
    return f"from {first.place} on: {first.metric} is {first.expected!r} on a, {first.actual!r} on b" + (
        f" ({first.abs_error:.3g} apart)" if first.abs_error is not None else ""
    )
