"""The result of a comparison; import these types from ``reprokit.core.comparison``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The first place, in execution order, where two series differ.

    Attributes:
        record: Position of the record, counted from 0.
        step: The record's ``step``, or None where it has none.
        metric: Name of the metric, or None where whole records differ.
        expected: Value on the expected side, or None where it is missing.
        actual: Value on the actual side, or None where it is missing.
        abs_error: ``abs(actual - expected)``, or None for what is not a number.
        rel_error: ``abs_error / abs(expected)``, or None.
        ulps: Units in the last place between two float64, or None.
        what: One sentence that names the difference (value, type, missing record, …).

    >>> read_report(list_reports()[0]).divergence is None
    True
    >>> Divergence(record=3, step=30, metric="loss", expected=0.5, actual=0.25).metric
    'loss'
    """

    record: int
    step: Any
    metric: str | None
    expected: Any
    actual: Any
    abs_error: float | None = None
    rel_error: float | None = None
    ulps: int | None = None
    what: str = ""

    @property
    def place(self) -> str:
        """``step 3``, or ``record 3`` (counted from 0) in a log without steps."""
        return f"record {self.record}" if self.step is None else f"step {self.step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """How far one metric is off over a whole series.

    >>> MetricSummary(max_abs_error=0.25, max_rel_error=0.5, mismatches=1, first_step=30).mismatches
    1
    """

    max_abs_error: float | None
    max_rel_error: float | None
    mismatches: int
    first_step: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something odd about the input, in a word of its own.

    Attributes:
        kind: ``torn_line``, ``duplicate_step``, ``missing_record``, …
        side: ``expected``, ``actual`` or ``both``.
        line: Line number counted from 1, or None.
        severity: ``error`` (the files cannot be compared), ``difference`` (they differ) or
            ``warning`` (both files have it alike).

    >>> Problem(kind="torn_line", side="actual", line=7, message="cut off", severity="error").kind
    'torn_line'
    """

    kind: str
    side: str
    line: int | None
    message: str
    severity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What came of comparing two series.

    ``identical`` means equal by value and sign of zero in every record (the default 0/0);
    ``within_tolerance`` means no value differs beyond the tolerance. Neither is ever true when a
    problem of severity ``error`` or ``difference`` is present, or when nothing was compared.
    """

    identical: bool
    within_tolerance: bool
    records_compared: int
    metrics_compared: int
    divergence: Divergence | None
    per_metric: Mapping[str, MetricSummary]
    problems: tuple[Problem, ...] = ()

    @property
    def comparable(self) -> bool:
        """False when the question "equal or not" has no answer (exit code 2)."""
        return self.records_compared > 0 and not any(p.severity == "error" for p in self.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyRecord:
    """One record near a divergence, on both sides; ``MISSING`` where a side has no value."""

    record: int
    step: Any
    expected: Any
    actual: Any
    is_divergence: bool
