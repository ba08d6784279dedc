"""How much results vary from seed to seed, relative to their mean, and what that does not say.

The score and its limits are those of common advice on reproducible research: population standard deviation
divided by the mean, "reproducible" below a tolerance of 0.01, "stable" up to 0.1.

    >>> variability([489.5, 495.6, 482.1, 487.9, 488.4]).score
    0.0088...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.special

from reprokit.core.statistics.summary import Values, summarise

TOLERANCE = 0.01
STABLE = 0.1
#: What the score does not say, whatever its value.
LIMITS = (
    "it compares seeds: whether one seed's run can be repeated is the verdict of `reprokit reproduce`",
    "it divides by the mean: adding a constant to all returns changes it",
    "all seeds may be equally bad, or differ for a good reason",
    "it has an error of its own: see the interval of the standard deviation",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variability:
    """Spread relative to the mean; None where ``refused`` says why.

    Attributes:
        coefficient_of_variation: Sample standard deviation (n - 1) divided by the size of the mean.
        score: Population standard deviation (n) divided by the mean, with the mean's sign: the
            reproducibility score. Below 0 it passes every tolerance, so ``is_reproducible`` takes its size.
        is_reproducible: Whether the score is below ``TOLERANCE``.
        is_stable: Whether it is at most ``STABLE``.
        std_low: With ``std_high`` the 95 % interval of the standard deviation, if the values are normal.
    """

    num_seeds: int
    coefficient_of_variation: float | None = None
    score: float | None = None
    is_reproducible: bool | None = None
    is_stable: bool | None = None
    std_low: float | None = None
    std_high: float | None = None
    tolerance: float = TOLERANCE
    notes: tuple[str, ...] = ()
    refused: str = ""


def variability(values: Sequence[float] | Values) -> Variability:
    """Coefficient of variation and reproducibility score of one value per seed, shape (n,)."""
    numbers = np.asarray(values, dtype=np.float64)
    found = summarise(numbers)
    reason = found.refused.get("mean") or found.refused.get("std")
    if reason or found.mean is None or found.std is None:
        return Variability(num_seeds=found.num_seeds, refused=reason or "")
    if found.mean == 0:
        return Variability(
            num_seeds=found.num_seeds, refused="the mean is 0, and nothing can be divided by it"
        )
    population = 0.0 if found.zero_variance else float(numbers.std())
    score = population / found.mean
    low, high = _std_interval(found.std, found.num_seeds)
    return Variability(
        num_seeds=found.num_seeds,
        coefficient_of_variation=found.std / abs(found.mean),
        score=score,
        is_reproducible=abs(score) < TOLERANCE,
        is_stable=abs(score) <= STABLE,
        std_low=low,
        std_high=high,
        notes=tuple(_notes(numbers, found.mean, zero_variance=found.zero_variance)),
    )


def _std_interval(std: float, count: int) -> tuple[float, float]:
    """The chi-squared interval of a standard deviation."""
    low, high = (scipy.special.chdtri(count - 1, tail) for tail in (0.025, 0.975))
    return std * float(np.sqrt((count - 1) / low)), std * float(np.sqrt((count - 1) / high))


def _notes(values: Values, mean: float, *, zero_variance: bool) -> list[str]:
    notes = []
    if zero_variance:
        notes.append(f"zero variance: all {len(values)} seeds have the same value")
    if values.min() < 0 < values.max():
        notes.append("values are of either sign: dividing by their mean means nothing")
    elif mean < 0:
        notes.append("the mean is below 0: the score as it is usually computed passes every tolerance")
    return notes
