"""A curve in one line of text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], *, width: int) -> str:
    """The values from the smallest to the largest as bars; of more than have room, means of neighbours.

    >>> sparkline([1.0, 2.0, 3.0], width=10)
    '▁▅█'
    """
    if not values:
        return ""
    shown = list(values)
    if len(values) > width:
        edges = [at * len(values) // width for at in range(width + 1)]
        shown = [sum(values[first:last]) / (last - first) for first, last in pairwise(edges)]
    least, most = min(shown), max(shown)
    if least == most:
        return _BARS[0] * len(shown)
    top = len(_BARS) - 1
    return "".join(_BARS[round((value / 2 - least / 2) / (most / 2 - least / 2) * top)] for value in shown)
