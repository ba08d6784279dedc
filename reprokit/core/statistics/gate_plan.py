"""What the statistical gate is asked and what it answers: metrics and margins, looks, outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np

from reprokit.core.statistics.permutation import Values


class Conclusion(StrEnum):
    """What the gate says."""

    EQUIVALENT = "EQUIVALENT"
    REGRESSION = "REGRESSION"
    UNJUDGED = "UNJUDGED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric that is judged: ``margin`` is the largest drop that would be acceptable, above 0."""

    name: str
    margin: float
    higher_is_better: bool = True

    def __post_init__(self) -> None:
        if not (math.isfinite(self.margin) and self.margin > 0):
            raise ValueError(f"the margin of {self.name!r} is {self.margin}: it must be above 0")

    @property
    def sign(self) -> float:
        """What values are multiplied with so that higher is better."""
        return 1.0 if self.higher_is_better else -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOfLooks:
    """After how many new seeds one looks, and how the error rate is spread over the looks.

    The share spent up to a look is ``alpha * (new seeds / new seeds of the last look) ** spending`` (Kim and
    DeMets 1987). 1 spends evenly; 2 leaves three quarters of ``alpha`` to the last of 3, 5, 10.
    """

    looks: tuple[int, ...] = (3, 5, 10)
    alpha: float = 0.05
    spending: float = 2.0
    power: float = 0.8  # with which a look must find a drop of the margin before it may say EQUIVALENT
    power_draws: int = 1_000  # simulated gates for each metric and look

    def __post_init__(self) -> None:
        rising = all(before < after for before, after in pairwise(self.looks))
        if not self.looks or self.looks[0] < 1 or not rising:
            raise ValueError(f"looks must be rising numbers of seeds, not {self.looks}")
        if not (0 < self.alpha < 1 and 0 < self.power < 1 and self.spending > 0 and self.power_draws > 0):
            raise ValueError("alpha and power lie between 0 and 1, spending and power_draws above 0")

    def level(self, look: int) -> float:
        """The share of ``alpha`` that the look at this position may spend."""
        return self._spent(look) - (self._spent(look - 1) if look else 0.0)

    def _spent(self, look: int) -> float:
        return float(self.alpha * (self.looks[look] / self.looks[-1]) ** self.spending)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricJudgement:
    """One metric at one look.

    Attributes:
        difference: New mean minus reference mean; None where a value is not finite.
        direction: ``worse``, ``better`` or ``none``: where the difference of means points.
        difference_low: With ``difference_high`` the limits of the difference at the look's level
            (``difference_interval``); None where the groups are too small for it, or a value is not finite.
        excludes_margin: Whether a drop of the margin lies outside of them.
        differs: Whether ``adjusted_p_value`` is at most the look's level.
        adjusted_p_value: Holm's, over the metrics.
        smallest_possible_p_value: What complete separation of two groups of these sizes gives.
        power_at_margin: Probability that a drop of the margin would have been found; None where a value is
            not finite.
        smallest_visible_drop: The drop that would have been found with the plan's power; None where none
            would, or a value is not finite.
        num_not_finite: NaN and infinities in the reference, and among the new values. With any, their numbers
            are compared instead of the means, and EQUIVALENT is impossible.
        zero_variance: All reference values are equal, so every drop is visible as long as all seeds share it.
    """

    name: str
    margin: float
    num_reference: int
    num_new: int
    reference_mean: float | None
    new_mean: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    excludes_margin: bool
    direction: str
    differs: bool
    p_value: float
    adjusted_p_value: float
    smallest_possible_p_value: float
    power_at_margin: float | None
    smallest_visible_drop: float | None
    num_not_finite: tuple[int, int]
    zero_variance: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look: how many new seeds, the error rate that it may spend, and the metrics."""

    num_new: int
    level: float
    metrics: tuple[MetricJudgement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutcome:
    """The gate's answer.

    Attributes:
        looks: Those that were made, in order; the last one decided. Empty with too few new seeds.
        num_unused: New seeds that no look used.
        seeds_more: Where UNJUDGED, how many more new seeds lead to the next look or, after the last one,
            would exclude the margin with the plan's power in a plan of their own, if the difference stays
            what it is; None where no number of new seeds up to ``power.MOST_NEW`` would against this
            reference, or a difference is as large as its margin.
        reason: One sentence.
    """

    conclusion: Conclusion
    looks: tuple[Look, ...]
    num_unused: int
    seeds_more: int | None
    reason: str

    @property
    def metrics(self) -> tuple[MetricJudgement, ...]:
        return self.looks[-1].metrics if self.looks else ()


def as_matrix(side: Mapping[str, Sequence[float]], metrics: Sequence[Metric]) -> Values:
    """Values as rows of metrics and columns of seeds.

    Raises:
        ValueError: A metric is missing or has not one value for each seed.
    """
    if not metrics:
        raise ValueError("there is no metric to judge")
    missing = [metric.name for metric in metrics if metric.name not in side]
    if missing:
        raise ValueError(f"metrics without values: {', '.join(missing)}")
    rows = [np.asarray(side[metric.name], dtype=np.float64) for metric in metrics]
    if len({row.shape for row in rows}) > 1 or rows[0].ndim != 1:
        raise ValueError("every metric needs one value for each seed")
    return np.array(rows)
