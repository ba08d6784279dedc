"""What changes with the steps done: shares that rise or fall in a line, and intervals that are due.

>>> learning_rate = 3e-4 * rising(step, over=8_192) * falling(step, over=200_000)
"""

from __future__ import annotations


def rising(step: float, *, over: float) -> float:
    """From 0 at step 0 to 1 at ``over``, and 1 from then on; 1 at once where ``over`` is 0."""
    return min(1.0, step / over) if over else 1.0


def falling(step: float, *, over: float) -> float:
    """From 1 at step 0 to 0 at ``over``, and 0 from then on."""
    return max(0.0, 1 - step / over)


def is_due(interval: int, before: int, now: int) -> bool:
    """Whether a multiple of the interval lies in ``(before, now]``."""
    return now // interval > before // interval
