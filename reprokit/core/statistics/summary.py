"""Mean, spread and middle of one number per seed.

Nothing is dropped: where a value is NaN or infinite, no statistic is given, and ``refused`` says why.

    >>> summarise([1.0, 2.0, 6.0]).median
    2.0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

STATISTICS = ("mean", "std", "standard_error", "median", "iqm", "min", "max")
_SPREAD = ("std", "standard_error")
TRIMMED = 0.25  # of the values at either end, for the interquartile mean


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedSummary:
    """Statistics over seeds; one that is None has its reason in ``refused``, under its name.

    >>> summarise([1.0, 2.0, 3.0]).mean
    2.0
    """

    num_seeds: int
    mean: float | None = None
    std: float | None = None  # of a sample: divided by n - 1
    standard_error: float | None = None  # std / sqrt(n)
    median: float | None = None
    iqm: float | None = None  # interquartile mean: of what is left without a quarter at either end
    min: float | None = None
    max: float | None = None
    zero_variance: bool = False  # two seeds or more, all of the same value
    refused: Mapping[str, str] = field(default_factory=dict)


def summarise(values: Sequence[float] | Values) -> SeedSummary:
    """Summarise one number per seed, shape (n,)."""
    numbers = np.asarray(values, dtype=np.float64)
    count = len(numbers)
    if reason := why_no_statistics(numbers):
        return SeedSummary(num_seeds=count, refused=dict.fromkeys(STATISTICS, reason))
    equal = bool((numbers == numbers[0]).all())
    with np.errstate(over="ignore", invalid="ignore"):
        found = {
            "mean": float(numbers[0]) if equal else float(numbers.mean()),
            "median": float(np.median(numbers)),
            "iqm": float(numbers[0]) if equal else float(interquartile_mean(numbers)),
            "min": float(numbers.min()),
            "max": float(numbers.max()),
        }
        if count > 1:
            found["std"] = 0.0 if equal else float(numbers.std(ddof=1))
            found["standard_error"] = found["std"] / count**0.5
    refused = {
        name: "the sum does not fit into a 64-bit float" for name in found if not np.isfinite(found[name])
    }
    if count == 1:
        refused.update(dict.fromkeys(_SPREAD, "one seed has no spread"))
    kept = {name: value for name, value in found.items() if name not in refused}
    return SeedSummary(num_seeds=count, zero_variance=equal and count > 1, refused=refused, **kept)


def interquartile_mean(values: Values) -> Values:
    """Mean over the last axis without ``int(n / 4)`` values at either end; of three or fewer, the mean.

    Source: Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice".
    """
    count = values.shape[-1]
    cut = int(TRIMMED * count)
    middle: Values = np.sort(values, axis=-1)[..., cut : count - cut].mean(axis=-1)
    return middle


def why_no_statistics(values: Values) -> str:
    """Why nothing can be said about these values; empty where something can."""
    if not len(values):
        return "there is no seed"
    odd = np.flatnonzero(~np.isfinite(values))
    if len(odd):
        words = ", ".join(sorted({str(float(values[at])) for at in odd}))
        return f"{len(odd)} of {len(values)} values are not finite ({words})"
    return ""
