"""The sentence of the statistical gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reprokit.core.statistics.gate_plan import Conclusion, Look, MetricJudgement, PlanOfLooks
from reprokit.core.statistics.power import MOST_NEW
from reprokit.core.verdicts.rows import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class SidesInWords:
    """What the two groups of seeds are called."""

    new: str = "new seeds"
    reference: str = "the ensemble"


OF_A_GATE = SidesInWords()
#: How a reason ends that no number of new seeds mends.
TOO_FEW_SEEDS = "has too few seeds"


def reason_for(
    conclusion: Conclusion,
    looks: Sequence[Look],
    *,
    seeds_more: int | None,
    plan: PlanOfLooks,
    words: SidesInWords = OF_A_GATE,
) -> str:
    """Why the gate says what it says, and what to do where it could not judge."""
    if not looks:
        return f"too few new seeds: {seeds_more} more for the first look"
    last = looks[-1]
    if conclusion is Conclusion.REGRESSION:
        return "; ".join(_difference(metric, last, words) for metric in last.metrics if metric.differs)
    if conclusion is Conclusion.EQUIVALENT:
        shown = "; ".join(
            f"{metric.name} {interval(metric)}, margin {_number(metric.margin)}" for metric in last.metrics
        )
        return (
            f"no difference was found with {last.num_new} {words.new}, and a worsening as large as the "
            f"margin is excluded: {shown}"
        )
    odd = [metric.name for metric in last.metrics if any(metric.num_not_finite)]
    if odd:
        return f"values that are not finite, too few to be a difference: {', '.join(odd)}"
    unseen, more = _unseen(last, plan), _more(looks, seeds_more, plan, words)
    return f"no difference was found with {last.num_new} {words.new}, but {unseen}; {more}"


def _difference(one: MetricJudgement, look: Look, words: SidesInWords) -> str:
    corrected = f", corrected for {len(look.metrics)} metrics" if len(look.metrics) > 1 else ""
    threshold = f"threshold with {one.num_new} {words.new} {look.level:.3g}"
    p_value = f"p = {one.adjusted_p_value:.2g}{corrected}, {threshold}"
    if one.difference is None:
        counts = (
            f"{one.num_not_finite[1]} of {one.num_new} new, {one.num_not_finite[0]} of {one.num_reference}"
        )
        values = f"values that are not finite: {counts} of {words.reference}"
        return f"{one.name} is {one.direction}: {values} ({p_value})"
    return (
        f"{one.name} is {one.direction} than the {one.num_reference} seeds of {words.reference} by "
        f"{_number(abs(one.difference))}: mean {_number(one.new_mean)} over {one.num_new} {words.new}, "
        f"{_number(one.reference_mean)} over those ({p_value}){_within_margin(one)}"
    )


def _within_margin(one: MetricJudgement) -> str:
    """That a difference counts although it is smaller than the margin; "" where it is not."""
    if one.direction != "worse" or one.difference is None or abs(one.difference) >= one.margin:
        return ""
    return (
        f", a smaller worsening than the margin {_number(one.margin)}, but a difference that is found counts"
    )


def _unseen(look: Look, plan: PlanOfLooks) -> str:
    open_ones = [why for metric in look.metrics if (why := _why_open(metric, plan))]
    return f"a worsening as large as the margin is not excluded ({'; '.join(open_ones)})"


def _why_open(one: MetricJudgement, plan: PlanOfLooks) -> str:
    """Why a metric does not let the gate say EQUIVALENT; "" where it does."""
    power, reasons = one.power_at_margin, []
    if not one.excludes_margin:
        reasons.append(f"difference {interval(one)}")
    if power is not None and power < plan.power:
        drop = _number(one.smallest_visible_drop)
        reasons.append(
            f"a worsening of the margin is found with {power:.0%} power, and the smallest visible worsening, "
            f"found with {plan.power:.0%}, is {drop}"
        )
    return f"{one.name}: {', '.join(reasons)}, margin {_number(one.margin)}" if reasons else ""


def interval(one: MetricJudgement) -> str:
    """The difference of the means and its limits, as far as there are any."""
    if one.difference is None:
        return "none"
    if one.difference_low is None or one.difference_high is None:
        return f"{_number(one.difference)} (too few seeds for an interval)"
    limits = f"[{_number(one.difference_low)}, {_number(one.difference_high)}]"
    return f"{_number(one.difference)} {limits}"


def _more(looks: Sequence[Look], seeds_more: int | None, plan: PlanOfLooks, words: SidesInWords) -> str:
    if seeds_more is None:
        sides = [(metric, metric.difference) for metric in looks[-1].metrics if metric.direction == "worse"]
        if large := [one.name for one, by in sides if by is not None and abs(by) >= one.margin]:
            return f"the difference of {', '.join(large)} is itself as large as the margin"
        return f"no number of new seeds up to {MOST_NEW} would be enough: {words.reference} {TOO_FEW_SEEDS}"
    if len(looks) < len(plan.looks):
        return f"{counted(seeds_more, 'more new seed')} to the next look"
    most = f"; a gate makes no more than {plan.looks[-1]}" if words == OF_A_GATE else ""
    return f"{counted(seeds_more, 'more new seed')} would be enough{most}"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"
