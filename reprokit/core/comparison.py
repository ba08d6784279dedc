"""Whether two series of metric records are equal, and where they first differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import zip_longest
from typing import Any

from reprokit.core import problems
from reprokit.core.comparing.comparer import Comparer
from reprokit.core.comparing.difference import Comparison, Divergence, MetricSummary, Problem
from reprokit.core.tolerance import Tolerance, Tolerances
from reprokit.errors import MetricsError

__all__ = [
    "Comparison",
    "Divergence",
    "MetricSummary",
    "Problem",
    "Tolerance",
    "Tolerances",
    "compare_records",
    "exit_code",
    "to_json",
    "unreadable",
]

MAX_INTEGER_BITS = 13_000  # Python turns no integer of more than 4,300 digits into decimals


def compare_records(
    expected: Iterable[Mapping[str, Any]],
    actual: Iterable[Mapping[str, Any]],
    *,
    tolerances: Tolerances | None = None,
    metrics: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> Comparison:
    """Compare two series of records by position, each read once; a ``MetricsError`` for what is not JSON."""
    comparer = Comparer(tolerances=tolerances, metrics=metrics, ignore=ignore)
    num_expected = num_actual = 0
    unpaired: Mapping[str, Any] | None = None
    for left, right in zip_longest(expected, actual):
        num_expected += left is not None
        num_actual += right is not None
        if left is None or right is None:
            unpaired = unpaired if unpaired is not None else left if left is not None else right
            continue
        try:
            comparer.add(left, right)
        except (TypeError, AttributeError) as error:
            raise MetricsError(
                f"a record cannot be compared: {error}",
                where=f"record {num_expected - 1}",
                expected="a mapping of names to numbers, strings, booleans, null, lists or mappings",
            ) from error
    if num_expected != num_actual:
        for side, count in (("expected", num_expected), ("actual", num_actual)):
            if count == 0:
                comparer.log.add("no_records", side)
        comparer.end(num_expected=num_expected, num_actual=num_actual, record=unpaired, lines=(None, None))
    return comparer.finish()


def unreadable(error: MetricsError, *, side: str, with_fix: bool = True) -> Comparison:
    """The comparison that an error prevented: nothing compared, and the error as its one problem."""
    message = str(error) if with_fix else error.told()
    severity, _ = problems.KINDS[error.kind]
    return Comparison(
        identical=False,
        within_tolerance=False,
        records_compared=0,
        metrics_compared=0,
        divergence=None,
        per_metric={},
        problems=(Problem(kind=error.kind, side=side, line=None, message=message, severity=severity),),
    )


def exit_code(comparison: Comparison) -> int:
    """0 nothing differs beyond the tolerance, 1 differs, 2 cannot be compared."""
    if not comparison.comparable:
        return 2
    return 0 if comparison.within_tolerance else 1


def to_json(comparison: Comparison) -> dict[str, Any]:
    """The contract of ``diff --json``, in plain types that strict JSON has.

    NaN and the infinities become the strings ``NaN``, ``Infinity`` and ``-Infinity``, an integer of
    more than about 3,900 digits a hexadecimal string.
    """
    plain: dict[str, Any] = _strict_json(comparison)
    return plain


def _strict_json(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _strict_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _strict_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        return hex(value)
    return value
