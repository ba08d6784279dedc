"""The statistical gate: do new seeds differ from a reference ensemble, and would a real drop have been seen?

Per look (3, then 5, then 10 new seeds) and metric an exact two-sided permutation test of the difference of
means; Holm's correction over metrics; the error rate spread over the looks by a plan that is fixed before.

- REGRESSION: some metric differs, for the worse or for the better.
- EQUIVALENT: none differs, the interval of each difference excludes a drop of the metric's margin
  (non-inferiority), and the look has the plan's power to find such a drop.
- UNJUDGED: none differs, but such a drop may be there; ``seeds_more`` says what would help.

Why there are at most ``alpha`` false alarms: if nothing changed, all values are exchangeable. Then an
adjusted p-value is at most a look's share with at most that probability, whatever the distribution, however
many metrics there are and depend on each other. The shares add up to ``alpha``.

Why at most ``alpha / 2`` of the gates pass a drop of a margin that all new seeds share: an interval excludes
the true shift on that side with at most half of a look's share. All metrics must exclude theirs, so their
number needs no correction.

    >>> generator = np.random.default_rng(0)
    >>> metrics = [Metric(name="eval/return", margin=20.0)]
    >>> judge(reference, new, metrics=metrics, generator=generator).conclusion
    <Conclusion.EQUIVALENT: 'EQUIVALENT'>
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from reprokit.core.statistics import permutation, power
from reprokit.core.statistics.difference_interval import difference_limits
from reprokit.core.statistics.gate_plan import (
    Conclusion,
    GateOutcome,
    Look,
    Metric,
    MetricJudgement,
    PlanOfLooks,
    as_matrix,
)
from reprokit.core.statistics.gate_reason import reason_for
from reprokit.core.statistics.permutation import Splits, Values
from reprokit.core.statistics.power import VisibleDrops


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyOutcomes:
    """What many gates said, for measuring error rates.

    Attributes:
        conclusions: Shape (gates,), a ``Conclusion`` each.
        looks: Shape (gates,), position of the look that decided; the last one where none did.
        worse: Shape (gates,), whether a difference was found in a metric whose mean got worse.
    """

    conclusions: npt.NDArray[np.str_]
    looks: npt.NDArray[np.intp]
    worse: npt.NDArray[np.bool_]


def judge(
    reference: Mapping[str, Sequence[float]],
    new: Mapping[str, Sequence[float]],
    *,
    metrics: Sequence[Metric],
    generator: np.random.Generator,
    plan: PlanOfLooks | None = None,
) -> GateOutcome:
    """Judge new seeds: every look that they suffice for, from the first, until one decides.

    Args:
        reference: Metric → one value per seed of the ensemble, at least two.
        new: Metric → one value per new seed, in the order in which they were planned.
        metrics: What is judged, each in both.
        generator: Draws splits where there are too many to count, and the simulated power. From one state,
            one answer.
        plan: Looks and error rates, fixed before the first new seed was run.

    Raises:
        ValueError: A metric is missing, has not one value for each seed, or the reference has one seed.
    """
    plan = plan or PlanOfLooks()
    before, after = as_matrix(reference, metrics), as_matrix(new, metrics)
    if before.shape[1] < 2:
        raise ValueError(f"a reference has two seeds or more, not {before.shape[1]}")
    looks: list[Look] = []
    conclusion = None
    for at, num_new in enumerate(plan.looks):
        if num_new > after.shape[1] or conclusion is not None:
            break
        part = after[:, :num_new]
        looked = _looked_at(
            before[None], part[None], metrics, plan, look=at, generator=generator, power_of="all"
        )
        conclusion = _conclusion(looked)
        judged = tuple(
            _judgement(before[row], part[row], metric, looked, at=row, power=plan.power)
            for row, metric in enumerate(metrics)
        )
        looks.append(Look(num_new=num_new, level=plan.level(at), metrics=judged))
    more = None
    if conclusion is None:
        more = _seeds_more(before, after.shape[1], looks, metrics, plan, generator=generator)
    return GateOutcome(
        conclusion=conclusion or Conclusion.UNJUDGED,
        looks=tuple(looks),
        num_unused=after.shape[1] - (looks[-1].num_new if looks else 0),
        seeds_more=more,
        reason=reason_for(conclusion or Conclusion.UNJUDGED, looks, seeds_more=more, plan=plan),
    )


def judge_many(
    reference: Values,
    new: Values,
    *,
    metrics: Sequence[Metric],
    generator: np.random.Generator,
    plan: PlanOfLooks | None = None,
    with_power: bool = True,
) -> ManyOutcomes:
    """Many gates at once, with the very tests of ``judge``: to measure false alarms, power and wrong passes.

    Args:
        reference: Shape (gates, metrics, n).
        new: Shape (gates, metrics, m), in the order in which seeds are looked at, m at least the last look.
        metrics: One for each in the arrays.
        generator: As in ``judge``; the gates share the splits that are drawn.
        plan: As in ``judge``. The simulated power costs nearly all the time: 200 ``power_draws`` are enough
            for an error rate over thousands of gates.
        with_power: False only looks for differences: nothing is EQUIVALENT, and all looks are made.
    """
    plan = plan or PlanOfLooks()
    if new.shape[2] < plan.looks[-1]:
        raise ValueError(f"{new.shape[2]} new seeds are fewer than the last look's {plan.looks[-1]}")
    num_gates = len(reference)
    conclusions = np.full(num_gates, Conclusion.UNJUDGED, dtype=object)
    decided_at = np.full(num_gates, len(plan.looks) - 1)
    worse = np.zeros(num_gates, dtype=np.bool_)
    waiting = np.arange(num_gates)
    for at, num_new in enumerate(plan.looks):
        part = new[waiting, :, :num_new]
        looked = _looked_at(
            reference[waiting],
            part,
            metrics,
            plan,
            look=at,
            generator=generator,
            power_of="undecided" if with_power else "none",
        )
        answers = np.where(looked.differs.any(axis=1), Conclusion.REGRESSION, "")
        answers = np.where((answers == "") & looked.enough, Conclusion.EQUIVALENT, answers)
        decided = answers != ""
        conclusions[waiting[decided]] = answers[decided]
        decided_at[waiting[decided]] = at
        worse[waiting] = (looked.differs & (looked.shift < 0)).any(axis=1)
        waiting = waiting[~decided]
        if not len(waiting):
            break
    return ManyOutcomes(conclusions=conclusions.astype(np.str_), looks=decided_at, worse=worse)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """One look at several gates. Arrays have the shape (gates, metrics), ``enough`` (gates,)."""

    p_values: Values
    adjusted: Values
    differs: npt.NDArray[np.bool_]
    shift: Values  # of the means, above 0 where the new ones are better; of what was tested
    smallest_p: float
    low: Values  # limits of the shift, infinite where there are none
    high: Values
    drops: tuple[tuple[VisibleDrops | None, ...], ...]  # None where no one asked or a value is not finite
    enough: npt.NDArray[
        np.bool_
    ]  # whether every metric excludes its margin, with the power that is asked for


def _looked_at(
    reference: Values,
    new: Values,
    metrics: Sequence[Metric],
    plan: PlanOfLooks,
    *,
    look: int,
    generator: np.random.Generator,
    power_of: Literal["all", "undecided", "none"],
) -> _Looked:
    signs = np.array([metric.sign for metric in metrics])[:, None]
    before, after, finite = _testable(reference * signs, new * signs)
    num_gates, num_metrics, num_new = after.shape
    among = permutation.splits(before.shape[2], num_new, generator=generator)
    flat = [one.reshape(num_gates * num_metrics, -1) for one in (before, after)]
    p_values = permutation.two_sided(*flat, generator=generator, among=among).reshape(num_gates, num_metrics)
    adjusted = permutation.holm(p_values)
    differs = adjusted <= plan.level(look) * (1 + 1e-12)
    low, high = _limits(flat, finite, level=plan.level(look), among=among, skipped=power_of == "none")
    margins = np.array([metric.margin for metric in metrics])
    excluded: npt.NDArray[np.bool_] = np.all(excludes(low, margins), axis=1)
    drops: list[tuple[VisibleDrops | None, ...]] = []
    level = plan.level(look) / num_metrics  # what Holm's correction asks of the first metric
    for gate in range(num_gates):
        settled = differs[gate].any() or not excluded[gate]  # whatever the power is
        skipped = power_of == "none" or (power_of == "undecided" and settled)
        found = tuple(
            None
            if skipped or not finite[gate, at]
            else power.visible_drops(
                before[gate, at], num_new, level=level, draws=plan.power_draws, generator=generator
            )
            for at in range(num_metrics)
        )
        drops.append(found)
    return _Looked(
        p_values=p_values,
        adjusted=adjusted,
        differs=differs,
        shift=after.mean(axis=2) - before.mean(axis=2),
        smallest_p=among.smallest_p,
        low=low,
        high=high,
        drops=tuple(drops),
        enough=excluded & np.array([_suffices(found, metrics, plan) for found in drops]),
    )


def excludes(low: Values | float, margin: Values | float) -> npt.NDArray[np.bool_]:
    """Whether a drop of the margin lies below the lower limit of the difference, higher being better."""
    return np.asarray(low > -np.asarray(margin) * (1 - 1e-9))


def _limits(
    flat: Sequence[Values], finite: npt.NDArray[np.bool_], *, level: float, among: Splits, skipped: bool
) -> tuple[Values, Values]:
    """Limits of each shift, shape (gates, metrics); infinite where a value is not finite, or no one asked."""
    low, high = np.full(finite.shape, -np.inf), np.full(finite.shape, np.inf)
    if not skipped and finite.any():
        rows = finite.reshape(-1)
        low[finite], high[finite] = difference_limits(*(one[rows] for one in flat), level=level, among=among)
    return low, high


def _suffices(found: Sequence[VisibleDrops | None], metrics: Sequence[Metric], plan: PlanOfLooks) -> bool:
    pairs = zip(found, metrics, strict=True)
    return all(one is not None and one.power(metric.margin) >= plan.power for one, metric in pairs)


def _testable(before: Values, after: Values) -> tuple[Values, Values, npt.NDArray[np.bool_]]:
    """The values that are tested: where some are not finite, -1 for each of those and 0 for the others.

    Which of the two depends on all values together and not on who has which, so the test stays exact.
    """
    finite: npt.NDArray[np.bool_] = np.isfinite(np.concatenate([before, after], axis=2)).all(axis=2)
    odd = ~finite[:, :, None]
    return (
        np.where(odd, np.where(np.isfinite(before), 0.0, -1.0), before),
        np.where(odd, np.where(np.isfinite(after), 0.0, -1.0), after),
        finite,
    )


def _conclusion(looked: _Looked) -> Conclusion | None:
    if looked.differs.any():
        return Conclusion.REGRESSION
    return Conclusion.EQUIVALENT if looked.enough[0] else None


def _judgement(
    before: Values, after: Values, metric: Metric, looked: _Looked, *, at: int, power: float
) -> MetricJudgement:
    odd = tuple(int(np.count_nonzero(~np.isfinite(side))) for side in (before, after))
    means = [float(side.mean()) for side in (before, after)] if not any(odd) else [None, None]
    shift, drops = float(looked.shift[0, at]), looked.drops[0][at]
    limits = [float(one[0, at]) for one in (looked.low, looked.high)]
    low, high = limits if metric.sign > 0 else (-limits[1], -limits[0])
    return MetricJudgement(
        name=metric.name,
        margin=metric.margin,
        num_reference=len(before),
        num_new=len(after),
        reference_mean=means[0],
        new_mean=means[1],
        difference=None if any(odd) else shift * metric.sign,
        direction="none" if shift == 0 else "better" if shift > 0 else "worse",
        difference_low=low if math.isfinite(low) else None,
        difference_high=high if math.isfinite(high) else None,
        excludes_margin=bool(excludes(limits[0], metric.margin)),
        differs=bool(looked.differs[0, at]),
        p_value=float(looked.p_values[0, at]),
        adjusted_p_value=float(looked.adjusted[0, at]),
        smallest_possible_p_value=looked.smallest_p,
        power_at_margin=None if drops is None else drops.power(metric.margin),
        smallest_visible_drop=None if drops is None else drops.smallest(power),
        num_not_finite=(odd[0], odd[1]),
        zero_variance=bool((before == before[0]).all()),
    )


def _seeds_more(
    before: Values,
    num_new: int,
    looks: Sequence[Look],
    metrics: Sequence[Metric],
    plan: PlanOfLooks,
    *,
    generator: np.random.Generator,
) -> int | None:
    if len(looks) < len(plan.looks):
        return plan.looks[len(looks)] - num_new
    needed = []
    for values, metric, judged in zip(before, metrics, looks[-1].metrics, strict=True):
        if judged.power_at_margin is None or judged.difference is None:
            return None
        if judged.excludes_margin and judged.power_at_margin >= plan.power:
            continue
        # What is left of the margin if the difference is what it was: with the power to find a drop of that,
        # an interval around the difference excludes the margin.
        left = metric.margin + min(0.0, judged.difference * metric.sign)
        needed += [
            power.seeds_for_power(
                values * metric.sign,
                margin=left,
                level=plan.level(len(plan.looks) - 1) / len(metrics),
                power=plan.power,
                draws=plan.power_draws,
                generator=generator,
            )
            if left > 0
            else None
        ]
    known = [count for count in needed if count is not None]
    if not needed or len(known) < len(needed):
        return None
    return max(1, max(known) - num_new)
