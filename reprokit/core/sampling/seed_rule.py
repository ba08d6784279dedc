"""When a metric responds to the seed: one rule for goldens, sweeps, ensembles and the checklist.

Numbers that differ between seeds are no response where they only repeat the seed. So:

- A metric that is constant within each run of several records is no response: ``env_seed`` at each step.
- A metric that is ``a * seed + b`` at every record, ``a`` and ``b`` of the record, is no response, such as
  ``episode_seed`` or ``seed * step``. Two seeds cannot tell that of runs that differ by a constant (those of
  one record always do), or by one that grows evenly: it takes three.
- Records that are NaN or infinite alike in all runs say nothing and are left out.
- A metric that only some of the runs have is no response: its name may hold the seed.
- A metric that is called a seed, such as ``data/epoch_seed``, is no response, whatever is made of the seed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

_ROUNDING = 1e-9  # of the largest value: what a sum of the seed and something else may be off by


_CALLED_A_SEED = re.compile(r"(?:.*(?:[^A-Za-z]|[a-z](?=S)))?(?:[Ss]eed|SEED|random_state|rng_state)")


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
    if any(len(value) != len(first) for value in values):
        return Response.YES
    table = _without_common_nonfinite(np.stack(values))
    if not np.isfinite(table).all():
        return Response.YES
    rounding = _ROUNDING * float(np.abs(table).max())
    if len(seeds) < 3:
        return Response.OPEN if _is_simple(table[-1] - table[0], rounding) else Response.YES
    return Response.NO if _is_linear(seeds, table, rounding) else Response.YES


def is_called_a_seed(name: str) -> bool:
    """Whether a metric's name says that it is a seed.

    >>> [is_called_a_seed(name) for name in ("data/epoch_seed", "envSeed", "seed_loss", "linseed")]
    [True, True, False, False]
    """
    return bool(_CALLED_A_SEED.fullmatch(name))


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
    return (
        f"only repeats the seed: it is a constant times the seed plus a constant in all {len(values)} seeds"
    )


def why_few_curves(curves: Sequence[Values]) -> str:
    """Why whole curves of a metric are no more than two results, to follow its name; "" where they are.

    Two curves are one result where they are equal, or differ by one constant at all records. Those that stay
    at one value, such as the most that can be reached, say nothing, nor do fewer than three.

    Args:
        curves: The metric's numbers in the run with each seed, shape (records,), in order.

    >>> curve = np.array([0.1, 0.5, 0.7])
    >>> why_few_curves([curve, curve + 0.25, curve - 0.5, np.array([1.0, 1.0, 1.0])])
    'has only 1 curve in 3 seeds, except for constants: they are one result'
    """
    moving = [curve for curve in curves if len(curve) > 1 and not _is_constant(curve)]
    apart: list[Values] = []
    for curve in moving:
        if not any(_is_shifted(curve, other) for other in apart):
            apart.append(curve)
    if len(moving) < 3 or len(apart) > 2:
        return ""
    results = "they are one result" if len(apart) == 1 else "they are two results"
    told = f"{len(apart)} curve{'s' * (len(apart) > 1)} in {len(moving)} seeds"
    return f"has only {told}, except for constants: {results}"


def is_of_one_curve(curves: Sequence[Values]) -> bool:
    """Whether a metric moves within its runs, and alike in all of them: it does not follow the seed.

    Args:
        curves: Its numbers in the run with each seed, shape (records,), in order.

    >>> is_of_one_curve([np.array([0.5, 0.4]), np.array([0.5, 0.4])])
    True
    """
    first = curves[0]
    alike = all(np.array_equal(first, curve, equal_nan=True) for curve in curves)
    return len(curves) > 1 and len(first) > 1 and alike and not _is_constant(first)


def _is_shifted(curve: Values, other: Values) -> bool:
    """Whether two curves differ by one constant, or not at all; NaN and infinities must be alike."""
    if len(curve) != len(other) or not np.array_equal(np.isfinite(curve), np.isfinite(other)):
        return False
    finite = np.isfinite(curve)
    if not finite.any():
        return True
    shift = curve[finite] - other[finite]
    rounding = _ROUNDING * max(float(np.abs(curve[finite]).max()), float(np.abs(other[finite]).max()))
    return float(np.ptp(shift)) <= rounding


def _is_constant(values: Values) -> bool:
    return np.array_equal(values, np.full_like(values, values[0]), equal_nan=True)


def _without_common_nonfinite(table: Values) -> Values:
    """The runs, shape (runs, records), without the records that are the same NaN or infinity in all."""
    first = table[0]
    same = ((table == first) | (np.isnan(table) & np.isnan(first))).all(axis=0)
    left: Values = table[:, np.isfinite(first) | ~same]
    return left


def _is_simple(shift: Values, rounding: float) -> bool:
    """Whether two runs differ by one constant wherever they differ, or by one that grows evenly."""
    apart = shift[np.abs(shift) > rounding]
    grows_evenly = len(shift) > 2 and float(np.abs(np.diff(shift, n=2)).max()) <= 4 * rounding
    return len(apart) == 0 or float(np.ptp(apart)) <= rounding or grows_evenly


def _is_linear(seeds: list[int], table: Values, rounding: float) -> bool:
    """Whether each record, shape (runs, records), moves by a multiple of how far a seed is from the first."""
    away = np.array([seed - seeds[0] for seed in seeds], dtype=np.float64)[:, np.newaxis]
    shifts = table - table[0]
    slopes = shifts[-1] / away[-1]
    return bool((np.abs(shifts - slopes * away) <= rounding).all())
