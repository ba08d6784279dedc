"""The results over seeds that the row ``statistics`` rests on, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprokit.core.checklist import CheckResult
from reprokit.core.verdicts.expected_results import over, window_of
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.format_values import value_text

_MAX_SEEDS, _MAX_RESULTS = 20, 20


def results_over_seeds(check: CheckResult) -> tuple[Visible, ...]:
    """Mean, interval and the value of each seed, a line for each result; () of any other row."""
    results = check.evidence.get("results")
    if check.id != "statistics" or not isinstance(results, Mapping):
        return ()
    found = [(name, one) for name, one in results.items() if isinstance(one, Mapping)]
    return tuple(
        one_line(f"{name}{over(window_of(one))}: {_told(one)}") for name, one in found[:_MAX_RESULTS]
    )


def _told(result: Mapping[str, Any]) -> str:
    low, high, values = result.get("low"), result.get("high"), result.get("values")
    interval = "" if low is None else f", 95 % interval {value_text(low)} to {value_text(high)}"
    found = list(values.items()) if isinstance(values, Mapping) else []
    seeds = ", ".join(f"seed {seed}: {value_text(value)}" for seed, value in found[:_MAX_SEEDS])
    more = f", {len(found) - _MAX_SEEDS} more in report.json" if found[_MAX_SEEDS:] else ""
    return f"mean {value_text(result.get('estimate'))}{interval} ({seeds}{more})"
