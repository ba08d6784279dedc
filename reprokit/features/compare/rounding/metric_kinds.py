"""What the values of a metric can show of rounding: all of it, only what is printed, or nothing.

A loss moves with every bit of the parameters. An accuracy or a return is a count over a fixed number: it
stands still until one decision flips, and then jumps. A loss that is printed with few digits shows nothing
below the last of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: The largest number that the parts of a count are taken of, such as the images of a test set.
_MOST_PARTS = 10_000
_FEWEST_DIGITS, _MOST_DIGITS = 3, 5
#: Half of the distance of two numbers in single precision, relative, and a little more.
_SINGLE = 2.0**-23
_FEWEST_VALUES = 4
#: How near a float of single precision times a whole number is to one by chance, at most.
_BY_CHANCE = 1e-6


@dataclass(frozen=True, slots=True)
class MetricKind:
    """What one metric can show.

    Attributes:
        counts: Whether its values are counts, or parts of one: no evidence of rounding.
        unit: The last printed place, in the unit of the metric; 0.0 where all digits are there.
    """

    counts: bool = False
    unit: float = 0.0


def kind_of(values: Sequence[float]) -> MetricKind:
    """What the values of one metric over all runs look like.

    Args:
        values: Finite values, of every run that is compared.
    """
    different = sorted({value for value in values if value})
    if not different:
        return MetricKind()
    if all(value.is_integer() for value in different):
        return MetricKind(counts=True)
    for digits in range(1, _MOST_DIGITS + 1):
        if all(_is_whole(value, 10**digits, error=1e-12) for value in different):
            few = digits < _FEWEST_DIGITS
            return MetricKind(counts=few, unit=0.0 if few else 10.0**-digits)
    if len(different) < _FEWEST_VALUES:
        return MetricKind()
    return MetricKind(counts=_are_parts(different))


def _are_parts(different: Sequence[float]) -> bool:
    """Whether all values are parts of one whole number that is not too large."""
    for parts in range(2, _MOST_PARTS + 1):
        if all(_is_whole(value, parts, error=_SINGLE) for value in different):
            chance = math.prod(min(1.0, 4 * parts * abs(value) * _SINGLE) for value in different)
            return chance * _MOST_PARTS < _BY_CHANCE
    return False


def _is_whole(value: float, parts: int, *, error: float) -> bool:
    scaled = value * parts
    return math.isfinite(scaled) and abs(scaled - round(scaled)) <= max(abs(scaled) * error, 1e-300)
