"""Runs that are equal under equal surroundings, made once more under other ones: all at once.

This module knows which variations a program bears; it refuses to know which of them is guilty.

    >>> differs_when_varied(inquiry)   # True where the numbers are others then
    False
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import RuledOut
from reprokit.harness.diagnosing.experiments import LEFTOVERS, Inquiry, under
from reprokit.harness.diagnosing.first_divergence import like
from reprokit.harness.running.apply_variations import there
from reprokit.variations import Unmade, Variation, survey

_CRASHED = "with it changed the program does not come to its end"
#: How many runs are made at most to find what the program does not bear.
_MOST_RUNS = 12


def differs_when_varied(inquiry: Inquiry) -> bool:
    """Make a run under all variations, and say in the inquiry what came of it.

    Args:
        inquiry: Of two runs that are equal. Where the varied run differs, it becomes the other one.

    Returns:
        Whether the numbers are others.
    """
    lab, first = inquiry.lab, inquiry.first
    lab.progress.phase("vary")
    found = survey(there(lab.spec, folder=lab.apart), only=lab.vary)
    inquiry.not_varied += [_told(one) for one in found.unmade if not one.held]
    chosen = tuple(one for one in found.made if one.name != LEFTOVERS)
    says = next((one.says for one in found.made if one.name == LEFTOVERS), "")
    if says and _another_seed_goes_first(inquiry, says):
        other = lab.run("beside-another-seeds", Conditions(progress=like(first)))
        if not other.trouble and not lab.equal(first, other):
            inquiry.other = other
            return True
        how = "beside what a run with another seed left, the numbers stay"
        inquiry.ruled_out.append(RuledOut(what=says, how=_why_not(other) if other.trouble else how))
        lab.leftovers.forget()
    other = _all_at_once(inquiry, chosen)
    if other.trouble:
        chosen = _bearable(inquiry, chosen, other)
        if not chosen:
            return False
        other = _all_at_once(inquiry, chosen)
    if other.trouble:
        inquiry.not_varied += [RuledOut(what=one.says, how=_why_not(other)) for one in chosen]
        return False
    if lab.equal(first, other):
        how = "varied together with all others: the numbers stay"
        inquiry.ruled_out += [RuledOut(what=one.says, how=how) for one in chosen]
        inquiry.ruled_out += [_told(one) for one in found.unmade if one.held]
        return False
    inquiry.other, inquiry.variations = other, chosen
    return True


def _another_seed_goes_first(inquiry: Inquiry, says: str) -> bool:
    """Make a run with another seed, whose leftovers later runs find; whether there was one.

    The second run has seen what the first one left, but that was left under the same seed.
    """
    lab = inquiry.lab
    if not lab.left or lab.spent:
        return False
    if not any("{seed}" in word for word in lab.spec.command):
        how = "of a run with another seed: the command has no {seed} by which it could be given one"
        inquiry.not_varied.append(RuledOut(what=says, how=how))
        return False
    given = Conditions(seed=lab.spec.seed + 1, fresh=True, progress=like(inquiry.first))
    made = lab.run("another-seed", given)
    if made.trouble:
        how = "with another seed the program does not come to its end"
        inquiry.not_varied.append(RuledOut(what=says, how=how))
        lab.leftovers.restore()
        return False
    lab.leftovers.keep()
    return True


def _all_at_once(inquiry: Inquiry, chosen: Sequence[Variation]) -> InstrumentedRun:
    first = inquiry.first
    return inquiry.lab.run("all-varied", replace(under(chosen, first), progress=like(first)))


def _told(one: Unmade) -> RuledOut:
    return RuledOut(what=one.says, how=one.why)


def _bearable(
    inquiry: Inquiry, chosen: tuple[Variation, ...], failed: InstrumentedRun
) -> tuple[Variation, ...]:
    """The variations under which the program still comes to its end, with those that it does not bear told.

    One that it does not bear is looked for by halving and taken out, then the rest is tried at once: a few
    runs for each, and of a program that hangs each costs its time limit.
    """
    lab, rest = inquiry.lab, chosen
    last = min(lab.budget, lab.made + _MOST_RUNS)
    while failed.trouble and rest and lab.made < last:
        some = rest
        while len(some) > 1 and lab.made < last:
            half, other = some[: len(some) // 2], some[len(some) // 2 :]
            ran = lab.run(f"varied-{half[0].name}", under(half, inquiry.first))
            some, failed = (half, ran) if ran.trouble else (other, failed)
        if len(some) > 1:
            break
        inquiry.not_varied.append(RuledOut(what=some[0].says, how=_why_not(failed)))
        rest = tuple(one for one in rest if one not in some)
        if rest:
            failed = lab.run("the-rest-varied", under(rest, inquiry.first))
    if not failed.trouble:
        return rest
    how = f"{_why_not(failed)}; which of several it is was not looked for any longer"
    inquiry.not_varied += [RuledOut(what=one.says, how=how) for one in rest]
    return ()


def _why_not(ran: InstrumentedRun) -> str:
    return f"{_CRASHED} within {ran.limit_s:g} s" if ran.overdue else _CRASHED
