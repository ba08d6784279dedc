"""The tests that papers name, each with what it can see with so few seeds.

A p-value above 0.05 is no evidence of anything where the test could hardly have gone below it: next to each
stand the smallest p-value that can come out at all, and the power against a stated effect.

    >>> shapiro_wilk([1.0, 2.0, 4.0]).power < 0.2
    True
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.special
import scipy.stats

from reprokit.core.statistics import permutation
from reprokit.core.statistics.measured import POWER, at_most
from reprokit.core.statistics.summary import Values, why_no_statistics

LEVEL = 0.05
APART = "means one standard deviation apart"
#: Test → the effect that its power is simulated against.
EFFECTS = {
    "shapiro_wilk": "exponential instead of normal",
    "brown_forsythe": "one standard deviation three times the other",
    "levene": "one standard deviation three times the other",
    "mann_whitney": APART,
}
_CENTRES: Mapping[str, Callable[[Values], Any]] = {"brown_forsythe": np.median, "levene": np.mean}
_ROUNDING = 1e-12
_MOST_SPLITS = 20_000
_ACCURATE_SHAPIRO = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HypothesisTest:
    """One test; ``statistic`` and ``p_value`` are None where ``refused`` says why.

    Attributes:
        name: ``shapiro_wilk``, ``brown_forsythe``, ``levene``, ``t``, ``welch`` or ``mann_whitney``.
        asks: What a small p-value speaks against.
        num_seeds: Of each group.
        smallest_p_value: That can come out with so many seeds; 0 where there is no limit.
        power: Probability of p <= 0.05 if ``effect`` were true; None where no one simulated it.
        note: What must be known about this p-value; "" where nothing.
    """

    name: str
    asks: str
    num_seeds: tuple[int, ...]
    statistic: float | None = None
    p_value: float | None = None
    smallest_p_value: float = 0.0
    power: float | None = None
    effect: str = ""
    note: str = ""
    refused: str = ""


def shapiro_wilk(values: Sequence[float] | Values) -> HypothesisTest:
    """Whether one value per seed looks normal; at least three seeds."""
    plan = HypothesisTest(name="shapiro_wilk", asks="the values are normal", num_seeds=(len(values),))
    found = _tested(plan, (values,), fewest=3, run=scipy.stats.shapiro)
    large = len(values) > _ACCURATE_SHAPIRO
    return replace(found, note=f"not accurate above {_ACCURATE_SHAPIRO:,} values") if large else found


def equal_variances(
    first: Sequence[float] | Values, second: Sequence[float] | Values
) -> tuple[HypothesisTest, ...]:
    """Brown–Forsythe (distances from the medians) and Levene (from the means); at least three seeds each."""
    sizes = len(first), len(second)

    def around(centre: str) -> Callable[..., Any]:
        return lambda one, other: scipy.stats.levene(one, other, center=centre)

    return tuple(
        _tested(
            HypothesisTest(name=name, asks="both groups have one variance", num_seeds=sizes),
            (first, second),
            fewest=3,
            run=around(centre),
        )
        for name, centre in (("brown_forsythe", "median"), ("levene", "mean"))
    )


def equal_means(
    first: Sequence[float] | Values, second: Sequence[float] | Values
) -> tuple[HypothesisTest, ...]:
    """Student's t, which takes the variances to be equal, and Welch's, which does not; two seeds each."""
    sizes = len(first), len(second)
    power = t_power(*sizes, effect=1.0)

    def with_variances(equal: bool) -> Callable[..., Any]:
        return lambda one, other: scipy.stats.ttest_ind(one, other, equal_var=equal)

    return tuple(
        _tested(
            HypothesisTest(
                name=name,
                asks="both groups have one mean",
                num_seeds=sizes,
                power=power,
                effect=APART,
                note="takes the values to be normal",
            ),
            (first, second),
            fewest=2,
            run=with_variances(equal),
        )
        for name, equal in (("t", True), ("welch", False))
    )


def mann_whitney(first: Sequence[float] | Values, second: Sequence[float] | Values) -> HypothesisTest:
    """Whether one group tends to have the larger values; exact up to 20,000 splits, with ties too."""
    sizes = len(first), len(second)
    splits = math.comb(sum(sizes), min(sizes))
    exact = splits <= _MOST_SPLITS
    plan = HypothesisTest(
        name="mann_whitney",
        asks="neither group tends to larger values",
        num_seeds=sizes,
        smallest_p_value=min(1.0, 2 / splits),
        note="" if exact else "by the normal approximation",
    )
    return _tested(plan, (first, second), fewest=1, run=_rank_sum if exact else _approximate_rank_sum)


def t_power(num_first: int, num_second: int, *, effect: float, level: float = LEVEL) -> float | None:
    """Power of the two-sided t-test against means ``effect`` standard deviations apart; None with one seed.

    Source: Cohen 1988, "Statistical Power Analysis for the Behavioral Sciences", by the noncentral t
    distribution.
    """
    freedom = num_first + num_second - 2
    if min(num_first, num_second) < 2:
        return None
    centre = effect * math.sqrt(num_first * num_second / (num_first + num_second))
    critical = float(scipy.special.stdtrit(freedom, 1 - level / 2))
    below = scipy.special.nctdtr(freedom, centre, critical) - scipy.special.nctdtr(freedom, centre, -critical)
    return float(1 - below)


def _tested(
    plan: HypothesisTest, sides: tuple[Sequence[float] | Values, ...], *, fewest: int, run: Callable[..., Any]
) -> HypothesisTest:
    """Run a test, or say why it cannot be run; its simulated power where there is one."""
    groups = [np.asarray(side, dtype=np.float64) for side in sides]
    if plan.name in POWER:
        power = at_most(POWER[plan.name], min(map(len, groups)))
        plan = replace(plan, power=power, effect=EFFECTS[plan.name])
    if reason := _why_not(groups, fewest=fewest):
        return replace(plan, refused=reason, power=None)
    if plan.name != "mann_whitney" and all(len(set(group.tolist())) == 1 for group in groups):
        return replace(plan, refused="zero variance: all seeds have the same value", power=None)
    scaled = _in_one_scale(groups)
    if plan.name in _CENTRES and all(_equally_far(group, _CENTRES[plan.name]) for group in scaled):
        return replace(plan, refused="all distances from the centre are equal", power=None)
    with warnings.catch_warnings():  # one group may have a single value, whose variance is exactly 0
        warnings.filterwarnings("ignore", message="Precision loss", category=RuntimeWarning)
        found = run(*scaled)
    return replace(plan, statistic=float(found.statistic), p_value=float(found.pvalue))


def _equally_far(group: Values, centre: Callable[[Values], Any]) -> bool:
    distances = np.abs(group - centre(group))
    return float(np.ptp(distances)) <= _ROUNDING * float(distances.max())


def _why_not(groups: Sequence[Values], *, fewest: int) -> str:
    for group in groups:
        if reason := why_no_statistics(group):
            return reason
        if len(group) < fewest:
            return f"{len(group)} of the {fewest} seeds that it needs at least"
    return ""


def _in_one_scale(groups: Sequence[Values]) -> list[Values]:
    """The same values around 0, at most 1 in size: no test's answer depends on it, but its rounding does."""
    centre = groups[0][0]
    moved = [group - centre for group in groups]
    size = max(float(np.abs(group).max()) for group in moved)
    return [group / size for group in moved] if size > 0 and math.isfinite(size) else moved


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    statistic: float
    pvalue: float


def _rank_sum(first: Values, second: Values) -> _Found:
    """The exact test: the permutation test of the ranks, equal values sharing theirs."""
    ranks = scipy.stats.rankdata(np.concatenate([first, second]))
    mine, theirs = ranks[: len(first)], ranks[len(first) :]
    p_value = permutation.two_sided(theirs, mine[None], generator=np.random.default_rng(0))[0]
    return _Found(statistic=float(mine.sum() - len(first) * (len(first) + 1) / 2), pvalue=float(p_value))


def _approximate_rank_sum(first: Values, second: Values) -> Any:
    return scipy.stats.mannwhitneyu(first, second, method="asymptotic")
