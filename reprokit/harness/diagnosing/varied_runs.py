"""Runs that are equal under equal conditions, run once more with all variations at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import RuledOut
from reprokit.harness.diagnosing.first_divergence import like
from reprokit.harness.diagnosing.inquiry import LEFTOVERS, Inquiry, under
from reprokit.harness.running.apply_variations import there
from reprokit.variations import Unmade, Variation, survey

_CRASHED = "with it changed the program does not finish"
#: How many runs are made at most to find the variations under which the program fails.
_MOST_RUNS = 12


def differs_when_varied(inquiry: Inquiry) -> bool:
    """Whether the numbers differ under all variations; if so, that run becomes the inquiry's other one."""
    lab, first = inquiry.lab, inquiry.first
    lab.progress.phase("are they equal under varied conditions?")
    lab.expect(3 if lab.left else 1)
    found = survey(there(lab.spec, folder=lab.apart), only=lab.vary)
    inquiry.not_varied += [_ruled_out(one) for one in found.unmade if not one.held]
    chosen = tuple(one for one in found.made if one.name != LEFTOVERS)
    says = next((one.says for one in found.made if one.name == LEFTOVERS), "")
    if says and _another_seed_goes_first(inquiry, says):
        other = lab.run("beside-another-seeds", Conditions(progress=like(first)))
        if not other.trouble and not lab.equal(first, other):
            inquiry.other = other
            return True
        how = "beside the files of a run with another seed, the numbers are equal"
        inquiry.ruled_out.append(RuledOut(what=says, how=_why_not(other) if other.trouble else how))
        lab.leftovers.forget()
    other = _all_at_once(inquiry, chosen)
    if other.trouble:
        chosen = _survivable(inquiry, chosen, other)
        if not chosen:
            return False
        other = _all_at_once(inquiry, chosen)
    if other.trouble:
        inquiry.not_varied += [RuledOut(what=one.says, how=_why_not(other)) for one in chosen]
        return False
    if lab.equal(first, other):
        how = "varied together with all others: the numbers are equal"
        inquiry.ruled_out += [RuledOut(what=one.says, how=how) for one in chosen]
        inquiry.ruled_out += [_ruled_out(one) for one in found.unmade if one.held]
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
        how = "of a run with another seed: the command has no {seed}"
        inquiry.not_varied.append(RuledOut(what=says, how=how))
        return False
    given = Conditions(seed=lab.spec.seed + 1, fresh=True, progress=like(inquiry.first))
    made = lab.run("another-seed", given)
    if made.trouble:
        how = "with another seed the program does not finish"
        inquiry.not_varied.append(RuledOut(what=says, how=how))
        lab.leftovers.restore()
        return False
    lab.leftovers.keep()
    return True


def _all_at_once(inquiry: Inquiry, chosen: Sequence[Variation]) -> InstrumentedRun:
    first = inquiry.first
    return inquiry.lab.run("all-varied", replace(under(chosen, first), progress=like(first)))


def _ruled_out(one: Unmade) -> RuledOut:
    return RuledOut(what=one.says, how=one.why)


def _survivable(
    inquiry: Inquiry, chosen: tuple[Variation, ...], failed: InstrumentedRun
) -> tuple[Variation, ...]:
    """The variations under which the program still finishes; the others are noted as not varied.

    One under which it fails is found by halving and taken out, then the rest is tried at once: a few runs
    for each, and each costs its time limit where the program hangs.
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
    how = f"{_why_not(failed)}; the search for which of them it is was stopped"
    inquiry.not_varied += [RuledOut(what=one.says, how=how) for one in rest]
    return ()


def _why_not(ran: InstrumentedRun) -> str:
    return f"{_CRASHED} within {ran.limit_s:g} s" if ran.overdue else _CRASHED
