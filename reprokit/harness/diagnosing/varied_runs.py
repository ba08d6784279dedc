"""Runs that are equal under equal surroundings, made once more under other ones: all at once.

This module knows which variations a program bears; it refuses to know which of them is guilty.

    >>> differs_when_varied(inquiry)   # True where the numbers are others then
    False
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reprokit.harness.diagnosing.diagnosis import RuledOut
from reprokit.harness.diagnosing.experiments import LEFTOVERS, Inquiry, under
from reprokit.harness.diagnosing.first_divergence import like
from reprokit.harness.diagnosing.instrumented_runs import InstrumentedRun
from reprokit.harness.running.apply_variations import there
from reprokit.variations import Unmade, Variation, survey

_CRASHED = "with it changed the program does not come to its end"


def differs_when_varied(inquiry: Inquiry) -> bool:
    """Make a run under all variations, and say in the inquiry what came of it.

    Args:
        inquiry: Of two runs that are equal. Where the varied run differs, it becomes the other one.

    Returns:
        Whether the numbers are others.
    """
    lab, first = inquiry.lab, inquiry.first
    lab.progress.phase("vary")
    found = survey(there(lab.spec, folder=lab.folder / "elsewhere"), only=lab.vary)
    inquiry.not_varied += [_told(one) for one in found.unmade if not one.held]
    chosen = tuple(one for one in found.made if one.name != LEFTOVERS)  # the second run has seen them
    other = _all_at_once(inquiry, chosen)
    if other.trouble:
        chosen = _bearable(inquiry, chosen)
        other = _all_at_once(inquiry, chosen)
    if other.trouble:
        inquiry.not_varied += [RuledOut(what=one.says, how=_CRASHED) for one in chosen]
        return False
    if lab.equal(first, other):
        how = "varied together with all others: the numbers stay"
        inquiry.ruled_out += [RuledOut(what=one.says, how=how) for one in chosen]
        inquiry.ruled_out += [_told(one) for one in found.unmade if one.held]
        return False
    inquiry.other, inquiry.variations = other, chosen
    return True


def _all_at_once(inquiry: Inquiry, chosen: Sequence[Variation]) -> InstrumentedRun:
    first = inquiry.first
    return inquiry.lab.run("all-varied", replace(under(chosen, first), progress=like(first)))


def _told(one: Unmade) -> RuledOut:
    return RuledOut(what=one.says, how=one.why)


def _bearable(inquiry: Inquiry, chosen: tuple[Variation, ...]) -> tuple[Variation, ...]:
    """The variations under which the program still comes to its end, found by halving."""
    lab, kept = inquiry.lab, set[str]()
    parts = [chosen[: len(chosen) // 2], chosen[len(chosen) // 2 :]]
    while parts:
        some = parts.pop(0)
        if some and lab.spent:
            how = "the budget was used up"
            inquiry.not_varied += [RuledOut(what=one.says, how=how) for one in some]
        elif some and not lab.run(f"varied-{some[0].name}", under(some, inquiry.first)).trouble:
            kept |= {one.name for one in some}
        elif len(some) > 1:
            parts += [some[: len(some) // 2], some[len(some) // 2 :]]
        elif some:
            inquiry.not_varied.append(RuledOut(what=some[0].says, how=_CRASHED))
    return tuple(one for one in chosen if one.name in kept)
