"""Which number of a run is compared with an expected result: its last value, or one over a window.

Whatever the window, a metric that ends at no finite number has none: a training that diverged after its best
value did not reach it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reprokit.core.statistics.windows import LAST


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedWindow:
    """The number of one run over the window that the recipe names; None with the reason in ``problem``."""

    window: str
    value: float | None = None
    problem: str = ""


def window_of(declared: object) -> str:
    """The window of an entry under ``expected``."""
    return str(declared.get("window", LAST)) if isinstance(declared, Mapping) else LAST


def over(window: str) -> str:
    """The window, to end a phrase with; "" for the last value, which needs no word."""
    return "" if window == LAST else f" over {window}"


def reached(
    name: str, window: str, *, final_values: Mapping[str, Any], windowed: Mapping[str, ExpectedWindow]
) -> tuple[float | None, str]:
    """The number of one run, or None and why there is none, to continue after the metric's name.

    Args:
        name: The metric.
        window: As the recipe names it.
        final_values: Metric → last value of the run.
        windowed: What was read of the run over windows.
    """
    if name not in final_values:
        return None, "was never logged"
    last = finite_number(final_values[name])
    if last is None:
        return None, f"ended at {final_values[name]!r}, which is not a finite number"
    if window == LAST:
        return last, ""
    found = windowed.get(name)
    if found is None or found.window != window:
        return None, f"was not read over {window}"
    value = finite_number(found.value)
    why = found.problem or f"it is {found.value!r}, which is not a finite number"
    return (None, f"has no {window}: {why}") if value is None else (value, "")


def finite_number(value: object) -> float | None:
    """A finite number, or None: no bool, no text, no NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= sys.float_info.max else None  # true of neither NaN nor an integer beyond
