"""How often something happens, from how often it was seen: exact intervals, and how many runs a bound needs.

    >>> low, high = share_interval(3, 40)
    >>> f"{low:.1%} to {high:.1%}"
    '1.6% to 20.4%'
    >>> runs_for(0.01), f"{at_most(40):.1%}"
    (299, '7.2%')

Source: Clopper and Pearson, "The use of confidence or fiducial limits", Biometrika 26, 1934. The limits are
found by bisection of binomial tails, so that scipy, which is an extra, is not needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

LEVEL = 0.95
_HALVINGS = 60


def share_interval(count: int, total: int, *, level: float = LEVEL) -> tuple[float, float]:
    """The exact two-sided interval of a share that was seen ``count`` times of ``total``."""
    if not 0 <= count <= total or total < 1:
        raise ValueError(f"{count} of {total} is no share")
    outside = (1 - level) / 2
    low = 0.0 if count == 0 else _where(lambda share: _at_least(count, total, share) >= outside)
    high = 1.0 if count == total else _where(lambda share: 1 - _at_least(count + 1, total, share) < outside)
    return low, high


def at_most(total: int, *, level: float = LEVEL) -> float:
    """The one-sided bound of a share of which none was seen in ``total``."""
    return float(1 - (1 - level) ** (1 / total))


def runs_for(share: float, *, level: float = LEVEL) -> int:
    """How many runs of which none differs show that at most this share does, above 0 and below 1."""
    if not 0 < share < 1:
        raise ValueError(f"{share} is no share between 0 and 1")
    return math.ceil(math.log(1 - level) / math.log1p(-share))


def runs_to_see(share: float, *, level: float = LEVEL) -> int:
    """How many runs show something of this share at least once, at this level."""
    return 1 if share >= level else runs_for(share, level=level)


def _where(reached: Callable[[float], bool]) -> float:
    """The smallest share for which it holds, where it holds for all larger ones."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _at_least(count: int, total: int, share: float) -> float:
    """The probability of at least ``count`` of ``total``."""
    if share in {0.0, 1.0}:
        return float(count == 0) if share == 0.0 else 1.0
    ways = math.lgamma(total + 1)
    logs = (
        ways
        - math.lgamma(one + 1)
        - math.lgamma(total - one + 1)
        + one * math.log(share)
        + (total - one) * math.log1p(-share)
        for one in range(count, total + 1)
    )
    return math.fsum(map(math.exp, logs))
