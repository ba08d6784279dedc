"""When a metric responds to the seed: one rule for goldens, sweeps, ensembles and the checklist.

Numbers that differ between seeds are no response where they only repeat the seed. So:

- A metric that is constant within each run of several records is no response: ``env_seed`` at each step.
- A metric whose runs differ by a constant (one with one record a run always does) responds unless that
  constant is ``a * seed + b``, which two seeds cannot tell: it takes three.
- A metric that only some of the runs have is no response: its name may hold the seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

_ROUNDING = 1e-9  # of the largest value: what a sum of the seed and something else may be off by


class Response(StrEnum):
    """Whether a metric responds; ``OPEN`` where a third seed is needed to say so."""

    YES = "yes"
    NO = "no"
    OPEN = "open"


def response(runs: Mapping[int, Values]) -> Response:
    """Whether one metric responds to the seed.

    Args:
        runs: Seed → the metric's numbers in the run with this seed, shape (records,), in order; empty where
            that run does not have it.

    >>> response({1: np.array([0.5, 0.4]), 2: np.array([0.6, 0.1])})
    <Response.YES: 'yes'>
    >>> response({1: np.array([1001.0]), 2: np.array([1002.0]), 5: np.array([1005.0])})
    <Response.NO: 'no'>
    """
    seeds, values = list(runs), list(runs.values())
    first = values[0]
    if any(len(value) == 0 for value in values) or all(
        np.array_equal(value, first, equal_nan=True) for value in values
    ):
        return Response.NO
    if any(len(value) > 1 for value in values) and all(_is_constant(value) for value in values):
        return Response.NO
    if any(len(value) != len(first) for value in values) or not np.isfinite(np.concatenate(values)).all():
        return Response.YES
    rounding = _ROUNDING * max(float(np.abs(value).max()) for value in values)
    shifts = [value - first for value in values]
    if any(float(np.ptp(shift)) > rounding for shift in shifts):
        return Response.YES
    if len(seeds) < 3:
        return Response.OPEN
    return Response.NO if _is_linear(seeds, [float(shift[0]) for shift in shifts], rounding) else Response.YES


def why_no_response(values: Mapping[int, float]) -> str:
    """Why one number a seed does not respond to it, to follow its name; "" where it does, or that is open.

    >>> why_no_response({1: 0.5, 2: 0.5, 3: 0.5})
    'has no variance: it is 0.5 in all 3 seeds'
    """
    first = next(iter(values.values()))
    if response({seed: np.array([value]) for seed, value in values.items()}) is not Response.NO:
        return ""
    if len(set(values.values())) == 1:
        return f"has no variance: it is {first:.6g} in all {len(values)} seeds"
    return f"only repeats the seed: it is a constant times the seed plus another in all {len(values)} seeds"


def _is_constant(values: Values) -> bool:
    return np.array_equal(values, np.full_like(values, values[0]), equal_nan=True)


def _is_linear(seeds: list[int], shifts: list[float], rounding: float) -> bool:
    """Whether the shifts, the first of which is 0, are a multiple of how far each seed is from the first."""
    away = [seed - seeds[0] for seed in seeds]
    slope = shifts[-1] / away[-1]
    return all(abs(shift - slope * far) <= rounding for shift, far in zip(shifts, away, strict=True))
