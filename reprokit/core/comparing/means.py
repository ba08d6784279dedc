"""The statistical rule: means of a few consecutive values of a metric are judged, not each value.

Records, names and types must match as ever, and a value that is not a finite number always counts as a
difference. A shift is seen, and a drift, and an exchange of values between windows. An exchange inside a
window is not, nor more or less noise around the same mean: single values are not judged.

    >>> list(apart([1.0, 3.0], [3.0, 1.0], tolerance=Tolerance(atol=0.1, mean_of=2)))
    []
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reprokit.core import json_values
from reprokit.core.comparing import steps
from reprokit.core.comparing.difference import Comparison, Divergence
from reprokit.core.tolerance import Tolerance, Tolerances

Record = Mapping[str, Any]

_WIDEST = Tolerance(atol=1.7976931348623157e308)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyNumber(Tolerances):
    """Tolerances for comparing records: where means are judged, one finite number is like another."""

    granted: Tolerances

    def of(self, metric: str) -> Tolerance:
        found = self.granted.of(metric)
        return found if found.mean_of == 1 else _WIDEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """A window that is off: the position of its first value, both means (or values), and why."""

    start: int
    expected: Any
    actual: Any
    what: str


def apart(expected: Sequence[Any], actual: Sequence[Any], *, tolerance: Tolerance) -> Iterator[Apart]:
    """Every window whose means differ beyond the tolerance, which has ``mean_of``; the last may be short.

    Of series of different lengths, the longer is off where the shorter one ends.
    """
    for start in range(0, max(len(expected), len(actual)), tolerance.mean_of):
        window = slice(start, start + tolerance.mean_of)
        found = _window(expected[window], actual[window], tolerance)
        if found is not None:
            left, right, what = found
            yield Apart(start=start, expected=left, actual=right, what=what)


def judge(
    comparison: Comparison, expected: Iterable[Record], actual: Iterable[Record], *, tolerances: Tolerances
) -> Comparison:
    """A comparison at ``AnyNumber`` with the means judged too; unchanged where the records differ."""
    names = [name for name in comparison.per_metric if tolerances.of(name).mean_of > 1]
    if not names or comparison.identical or not comparison.within_tolerance:
        return comparison
    left, right = _columns(expected, names), _columns(actual, names)
    per_metric, found = dict(comparison.per_metric), []
    for name in names:
        off = [
            _divergence(name, one, left[name])
            for one in apart(_values(left[name]), _values(right[name]), tolerance=tolerances.of(name))
        ]
        if off:
            per_metric[name] = replace(per_metric[name], mismatches=len(off), first_step=off[0].step)
            found.append(off[0])
    return replace(
        comparison,
        within_tolerance=not found,
        divergence=min(found, key=lambda one: one.record, default=None),
        per_metric=per_metric,
    )


def _window(left: Sequence[Any], right: Sequence[Any], tolerance: Tolerance) -> tuple[Any, Any, str] | None:
    if len(left) != len(right):
        return None, None, f"{len(left)} values expected, {len(right)} found"
    for one, other in zip(left, right, strict=True):
        if not (_is_finite_number(one) and _is_finite_number(other)):
            return one, other, "a value is not finite and cannot be part of a mean"
    try:
        expected, actual = math.fsum(left) / len(left), math.fsum(right) / len(right)
    except OverflowError:
        return left[0], right[0], f"the sum of {len(left)} values does not fit into a 64-bit float"
    if json_values.within(expected, actual, rtol=tolerance.rtol, atol=tolerance.atol):
        return None
    return expected, actual, f"the means of {len(left)} consecutive values differ"


def _is_finite_number(value: Any) -> bool:
    return json_values.kind(value) == "number" and json_values.is_finite(value)


def _columns(records: Iterable[Record], names: Sequence[str]) -> dict[str, list[tuple[int, Any, Any]]]:
    """Position, step and value of every metric, in the records that have it."""
    found: dict[str, list[tuple[int, Any, Any]]] = {name: [] for name in names}
    for position, record in enumerate(records):
        step = record.get(steps.name_in(record) or "")
        for name in names:
            if name in record:
                found[name].append((position, step, record[name]))
    return found


def _values(column: Sequence[tuple[int, Any, Any]]) -> list[Any]:
    return [value for _, _, value in column]


def _divergence(metric: str, one: Apart, column: Sequence[tuple[int, Any, Any]]) -> Divergence:
    position, step, _ = column[one.start] if one.start < len(column) else (len(column), None, None)
    return Divergence(
        record=position,
        step=step,
        metric=metric,
        expected=one.expected,
        actual=one.actual,
        abs_error=json_values.absolute_error(one.expected, one.actual),
        rel_error=json_values.relative_error(one.expected, one.actual),
        what=one.what,
    )
