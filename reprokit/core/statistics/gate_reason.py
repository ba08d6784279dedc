"""The sentence of the statistical gate."""

from __future__ import annotations

from collections.abc import Sequence

from reprokit.core.rows import counted
from reprokit.core.statistics.gate_plan import Conclusion, Look, MetricJudgement, PlanOfLooks
from reprokit.core.statistics.power import MOST_NEW


def reason_for(
    conclusion: Conclusion, looks: Sequence[Look], *, seeds_more: int | None, plan: PlanOfLooks
) -> str:
    """Why the gate says what it says, and what to do where it could not judge."""
    if not looks:
        return f"too few new seeds: {seeds_more} more for the first look"
    last = looks[-1]
    if conclusion is Conclusion.REGRESSION:
        return "; ".join(_difference(one, last) for one in last.metrics if one.differs)
    if conclusion is Conclusion.EQUIVALENT:
        drops = ", ".join(f"{one.name} {_number(one.smallest_visible_drop)}" for one in last.metrics)
        return (
            f"no difference was found with {last.num_new} new seeds, and a drop of each margin would be "
            f"found with {plan.power:.0%} power; smallest visible drop: {drops}"
        )
    odd = [one.name for one in last.metrics if any(one.num_not_finite)]
    if odd:
        return f"values that are not finite, too few to be a difference: {', '.join(odd)}"
    unseen, more = _unseen(last, plan), _more(looks, seeds_more, plan)
    return f"no difference was found with {last.num_new} new seeds, but {unseen}; {more}"


def _difference(one: MetricJudgement, look: Look) -> str:
    p_value = f"adjusted p = {one.adjusted_p_value:.2g}, level {look.level:.2g}"
    if one.difference is None:
        counts = (
            f"{one.num_not_finite[1]} of {one.num_new} new, {one.num_not_finite[0]} of {one.num_reference}"
        )
        values = f"values that are not finite: {counts} of the reference"
        return f"{one.name} is {one.direction}: {values} ({p_value})"
    return (
        f"{one.name} is {one.direction}: mean {_number(one.new_mean)} over {one.num_new} new seeds, "
        f"{_number(one.reference_mean)} over {one.num_reference} of the reference ({p_value}; "
        f"smallest visible drop {_number(one.smallest_visible_drop)})"
    )


def _unseen(look: Look, plan: PlanOfLooks) -> str:
    weak = [
        f"{one.name}: {one.power_at_margin:.0%} power at the margin {_number(one.margin)}, smallest visible "
        f"drop {_number(one.smallest_visible_drop)}"
        for one in look.metrics
        if one.power_at_margin is not None and one.power_at_margin < plan.power
    ]
    return f"a drop of the margin might stay unseen ({'; '.join(weak)})"


def _more(looks: Sequence[Look], seeds_more: int | None, plan: PlanOfLooks) -> str:
    if seeds_more is None:
        return f"no number of new seeds up to {MOST_NEW} would be enough: the reference needs more"
    what = "to the next look" if len(looks) < len(plan.looks) else "in a plan with more would be enough"
    return f"{counted(seeds_more, 'more new seed')} {what}"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"
