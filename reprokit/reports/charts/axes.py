"""The axes of a chart: where values, round ticks and their labels go.

Lengths are in the chart's own units, the vertical axis pointing down.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reprokit.reports.escaping import Visible

CHARACTER = 7.6  # the width of one, about
LABEL_GAP = 10.0
_NUM_TICKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A mark on an axis, at ``at``."""

    at: float
    label: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Values from ``low`` to ``high`` drawn from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    is_whole: bool = False

    def at(self, value: float) -> float:
        """Everything is halved first: the span of two float64 can be larger than any float64."""
        span = self.high / 2 - self.low / 2
        share = (value / 2 - self.low / 2) / span if span > 0 else 0.5
        return round(self.start + share * (self.end - self.start), 2)

    def ticks(self) -> tuple[Tick, ...]:
        values = nice(self.low, self.high)
        if self.is_whole:  # there is no half step
            values = [value for value in values if value % 1 == 0] or values
        labels = tick_labels(values)
        is_across = self.end > self.start
        width = CHARACTER * (max(map(len, labels)) + 1) * len(labels) if is_across else 0.0
        stride = max(1, math.ceil(width / abs(self.end - self.start)))
        pairs = list(zip(values, labels, strict=True))[::stride]
        return tuple(Tick(at=self.at(value), label=label) for value, label in pairs)


def padded(low: float, high: float) -> tuple[float, float]:
    """Limits of an axis a tenth beyond the values on either side."""
    span = high / 2 - low / 2
    pad = span * 0.1 if span > 0 else abs(low) * 0.05 or 1.0
    return max(-sys.float_info.max, low - pad), min(sys.float_info.max, high + pad)


def nice(low: float, high: float) -> list[float]:
    """Round numbers between ``low`` and ``high``: 1, 2 or 5 times a power of ten apart."""
    rough = (high / 2 - low / 2) / _NUM_TICKS * 2
    if not (math.isfinite(rough) and rough > 1e-300 and rough < 1e300):
        return sorted({low, high})
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    values = [
        round((first + index) * step, 12 - math.floor(math.log10(step))) for index in range(_NUM_TICKS * 2)
    ]
    return [value for value in values if low <= value <= high] or sorted({low, high})


def tick_labels(values: Sequence[float]) -> list[Visible]:
    """Labels with as many digits as it takes to tell neighbours apart."""
    largest = max(abs(value) for value in values)
    if 10_000 <= largest < 1e15 and all(value % 1 == 0 for value in values):
        unit, sign = (1e6, "M") if largest >= 1e6 else (1e3, "k")
        return [Visible("0" if value == 0 else f"{value / unit:.15g}{sign}") for value in values]
    is_plain = all(value == 0 or 1e-4 <= abs(value) < 1e6 for value in values)
    formats = [f".{digits}f" for digits in range(8)] if is_plain else []
    formats += [f".{digits}g" for digits in range(1, 13)]
    spelt = [[f"{value:{one}}" for value in values] for one in formats]
    exact = (labels for labels in spelt if [float(label) for label in labels] == list(values))
    distinct = ([f"{value:.{digits}g}" for value in values] for digits in range(3, 18))
    found = next(exact, None) or next((one for one in distinct if len(set(one)) == len(one)), spelt[-1])
    return [Visible(label) for label in found]


def finite(value: Any) -> float | None:
    """A number that can be drawn; halved numbers must not overflow when they are subtracted."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
