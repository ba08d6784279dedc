"""A comparison of two series of records, as ``diff --json`` has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from reprokit.api.tables import Tabular
from reprokit.core import comparison
from reprokit.core.comparing.difference import Divergence, MetricSummary, Problem

__all__ = ["Comparison"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Tabular):
    """What came of comparing two series of records. Its table has one line a metric.

    Attributes:
        identical: Equal bit for bit, by value and sign of zero.
        within_tolerance: No value differs beyond the tolerance.
        exit_code: 0 equal or within the tolerance, 1 different, 2 cannot be compared.
        records_compared: How many pairs of records.
        metrics_compared: How many metrics.
        divergence: The first place where they differ.
        metrics: Metric → how far it is off, of those that differ.
        problems: What is odd about the input.

    >>> one, other = list_runs("cartpole_baseline")
    >>> found = diff(one, other)
    >>> found.identical, found.exit_code, found.divergence
    (True, 0, None)
    """

    identical: bool
    within_tolerance: bool
    exit_code: int
    records_compared: int
    metrics_compared: int
    divergence: Divergence | None
    metrics: Mapping[str, MetricSummary]
    problems: tuple[Problem, ...]

    @classmethod
    def of(cls, found: comparison.Comparison) -> Comparison:
        """The record of what the core found."""
        return cls(
            identical=found.identical,
            within_tolerance=found.within_tolerance,
            exit_code=comparison.exit_code(found),
            records_compared=found.records_compared,
            metrics_compared=found.metrics_compared,
            divergence=found.divergence,
            metrics=found.per_metric,
            problems=found.problems,
        )

    def rows_of_table(self) -> list[dict[str, Any]]:
        """``metric``, ``max_abs_error``, ``max_rel_error``, ``mismatches``, ``first_step`` of each metric."""
        return [{"metric": name, **asdict(summary)} for name, summary in self.metrics.items()]

    def headline(self) -> tuple[str, str, str]:
        """Whether they are equal, and the first difference."""
        first = self.divergence
        where = (
            "" if first is None else f"first at {first.place}, {first.metric or 'the record'}: {first.what}"
        )
        if self.identical:
            return "identical", "good", f"{self.records_compared:,} records, bit for bit"
        if self.within_tolerance:
            return "within tolerance", "good", where
        return ("different", "bad", where) if self.exit_code == 1 else ("not comparable", "odd", where)
