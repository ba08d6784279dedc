"""Runs that are equal under equal conditions, run once more with all variations at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from reprokit.errors import ReprokitError
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import RuledOut
from reprokit.harness.diagnosing.first_divergence import like
from reprokit.harness.diagnosing.inquiry import COMPILER, LEFTOVERS, Investigation, under
from reprokit.harness.diagnosing.odds import rounded_otherwise
from reprokit.harness.running.varying.apply_variations import changed, refusal, there
from reprokit.harness.running.varying.in_force import conditions_of, expected_of, why_not_in_force
from reprokit.layout import STDERR
from reprokit.variations import Variation, VariationNotMade, survey

_EQUAL = "varied together with all others: the numbers are equal"
_AFTER_ANOTHER_SEED = (
    "after a run with another seed, whose files were left where they lay, the numbers are equal "
    "(not part of it: byte-code, since the program's own modules are compiled again in each run)"
)
_ONE_CORE = "the program had one core, on which OpenBLAS computes with one thread whatever is asked for"
_CRASHED = "with it changed the program does not finish"
OPENMP_THREADS = "OMP_NUM_THREADS"
#: How many runs are made at most to find the variations under which the program fails.
_MOST_RUNS = 12
#: Where a varied run differs, so many more are made under equal conditions; one where a run takes longer than
#: so many seconds. So many must be left for a cause.
_MORE_CONTROLS, _QUICK_S, _LEFT_FOR_A_CAUSE = 3, 20.0, 8


def differs_when_varied(inquiry: Investigation) -> bool:
    """Whether the numbers differ under all variations; if so, that run becomes the inquiry's other one."""
    lab, first = inquiry.lab, inquiry.first
    lab.progress.phase("are they equal under varied conditions?")
    lab.expect(3 if lab.left else 1)
    found = survey(there(lab.spec, folder=lab.apart), only=lab.vary)
    for unmade in found.unmade:
        if not unmade.held:
            inquiry.leave_out(unmade, unmade.why)
    leftovers = next((one for one in found.made if one.name == LEFTOVERS), None)
    if leftovers is not None and _differs_after_another_seed(inquiry, leftovers):
        return True
    chosen = tuple(one for one in found.made if one.name != LEFTOVERS and _can_start(inquiry, one))
    chosen = (*chosen, *_compiler(inquiry))
    held = [one for one in found.unmade if one.held and _is_held(inquiry, one)]
    if not chosen:
        inquiry.ruled_out += [_ruled_out(one) for one in held]
        return False
    other = _all_at_once(inquiry, chosen)
    if other.trouble:
        chosen = _survivable(inquiry, chosen, other)
        if not chosen:
            return False
        other = _all_at_once(inquiry, chosen)
    chosen, other = rounding_apart(inquiry, chosen, other)
    if other.trouble:
        for one in chosen:
            inquiry.leave_out(one, _why_not(other))
        return False
    if lab.equal(first, other):
        _judge_each(inquiry, chosen, other)
        inquiry.ruled_out += [_ruled_out(one) for one in held]
        return False
    inquiry.other, inquiry.variations = other, chosen
    repeat_as_before(inquiry, fresh=False)
    return True


def _compiler(inquiry: Investigation) -> tuple[Variation, ...]:
    """Whether PyTorch compiles, where it ran and no one says what is to be varied."""
    lab = inquiry.lab
    if lab.vary is not None or not inquiry.first.trace.facts.get("torch"):
        return ()
    return survey(there(lab.spec, folder=lab.apart), only=(COMPILER,)).made


def rounding_apart(
    inquiry: Investigation, chosen: tuple[Variation, ...], other: InstrumentedRun
) -> tuple[tuple[Variation, ...], InstrumentedRun]:
    """What was varied and the run that differs, with what must round otherwise judged apart.

    Compiled code rounds otherwise, and so does another number of threads where whoever runs the program has
    fixed it already. Where no one asks for them by name, a run that differs by no more than that is no fault
    of the program, and what else was varied is looked at without it. One that differs by more is explained.
    """
    lab, first = inquiry.lab, inquiry.first
    rounds = tuple(one for one in chosen if one.name == COMPILER or _is_fixed(inquiry, one))
    rest = tuple(one for one in chosen if one not in rounds)
    if lab.vary is not None or not rounds or other.trouble or lab.equal(first, other) or not lab.can_make(2):
        return chosen, other
    alone = lab.run(f"varied-{rounds[0].name}", replace(under(rounds, first), progress=like(first)))
    if alone.trouble or lab.equal(first, alone):
        return chosen, other
    if not rounded_otherwise(lab.compare(first, alone)):
        return rounds, alone
    what = " and ".join(one.says for one in rounds)
    inquiry.known.append(f"with {what} changed, the numbers are the same but for rounding")
    return rest, _all_at_once(inquiry, rest) if rest else first


def _is_fixed(inquiry: Investigation, one: Variation) -> bool:
    """Whether it is the number of threads, and the program is started with one that is given."""
    given = {**os.environ, **inquiry.lab.spec.environment}
    return one.name == "threads" and bool(given.get(OPENMP_THREADS))


def repeat_as_before(inquiry: Investigation, *, fresh: bool) -> None:
    """Make runs under the first one's conditions: one that differs is the other run, and nothing was varied.

    Else what was varied would be blamed where runs differ now and then whatever their conditions are.
    """
    lab, first = inquiry.lab, inquiry.first
    given = Conditions(like=first, fresh=fresh, progress=like(first))
    equal = 0
    for _ in range(_MORE_CONTROLS if first.duration_s < _QUICK_S else 1):
        if not lab.can_make(_LEFT_FOR_A_CAUSE):
            break
        ran = lab.run("again", given)
        if ran.trouble:
            break
        if not lab.equal(first, ran):
            inquiry.other, inquiry.variations = ran, ()
            inquiry.free_equal = 1 + equal
            return
        equal += 1
    inquiry.free_equal = equal if inquiry.variations else 0


def _judge_each(inquiry: Investigation, chosen: Sequence[Variation], other: InstrumentedRun) -> None:
    """Of a varied run that is equal: what it rules out is what was in force in it."""
    seen, before = (conditions_of(ran.trace.facts) for ran in (other, inquiry.first))
    for one in chosen:
        why = why_not_in_force(expected_of(one), seen, before=before)
        cores = before.get("0", {}).get("cores")
        if not why and one.name == "threads" and isinstance(cores, list | tuple) and len(cores) == 1:
            why = _ONE_CORE
        if why:
            inquiry.leave_out(one, why)
        else:
            inquiry.ruled_out.append(RuledOut(what=one.says, how=_EQUAL))


def _is_held(inquiry: Investigation, one: VariationNotMade) -> bool:
    """Whether runs differ in it by themselves, where that is why it need not be varied."""
    hashes = [
        conditions_of(ran.trace.facts).get("0", {}).get("hash") for ran in (inquiry.first, inquiry.other)
    ]
    if one.name != "hash_seed" or None in hashes or len(set(hashes)) > 1:
        return True
    inquiry.leave_out(one, "every run has the same one, whatever PYTHONHASHSEED is: the command fixes it")
    return False


def _can_start(inquiry: Investigation, one: Variation) -> bool:
    """Whether the command can be started under it; noted where it cannot."""
    try:
        changed(inquiry.lab.spec, start=one.start, cpu=one.cpu)
    except ReprokitError as error:
        inquiry.leave_out(one, error.what)
        return False
    return True


def _differs_after_another_seed(inquiry: Investigation, leftovers: Variation) -> bool:
    """Whether a run differs that finds what a run with another seed has left; it is the other one then."""
    lab = inquiry.lab
    if not _another_seed_goes_first(inquiry, leftovers):
        return False
    other = lab.run("beside-another-seeds", Conditions(progress=like(inquiry.first)))
    if not other.trouble and not lab.equal(inquiry.first, other):
        inquiry.other = other
        repeat_as_before(inquiry, fresh=True)
        return True
    if other.trouble:
        inquiry.leave_out(leftovers, _why_not(other))
    else:
        inquiry.ruled_out.append(RuledOut(what=leftovers.says, how=_AFTER_ANOTHER_SEED))
    lab.leftovers.forget()
    return False


def _another_seed_goes_first(inquiry: Investigation, leftovers: Variation) -> bool:
    """Make a run with another seed, whose leftovers later runs find; whether there was one.

    The second run has seen what the first one left, but that was left under the same seed. Where no run was
    seen to leave anything, there is one only if it is asked for by name: compiled code is not seen to write.
    """
    lab = inquiry.lab
    if not lab.left and LEFTOVERS not in (lab.vary or ()):
        inquiry.leave_out(
            leftovers, "no run was seen to leave any, and none with another seed was made before"
        )
        return False
    if lab.spent:
        inquiry.leave_out(leftovers, "the budget is used up: no run with another seed was made before")
        return False
    if not any("{seed}" in word for word in lab.spec.command):
        how = "no run with another seed can be made before: the command has no {seed}"
        inquiry.leave_out(leftovers, how)
        return False
    given = Conditions(seed=lab.spec.seed + 1, fresh=True, progress=like(inquiry.first))
    made = lab.run("another-seed", given)
    if made.trouble:
        inquiry.leave_out(leftovers, "with another seed the program does not finish")
        lab.leftovers.restore()
        return False
    lab.leftovers.keep()
    return True


def _all_at_once(inquiry: Investigation, chosen: Sequence[Variation]) -> InstrumentedRun:
    first = inquiry.first
    return inquiry.lab.run("all-varied", replace(under(chosen, first), progress=like(first)))


def _ruled_out(one: VariationNotMade) -> RuledOut:
    return RuledOut(what=one.says, how=one.why)


def _survivable(
    inquiry: Investigation, chosen: tuple[Variation, ...], failed: InstrumentedRun
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
        inquiry.leave_out(some[0], _why_not(failed))
        rest = tuple(one for one in rest if one not in some)
        if rest:
            failed = lab.run("the-rest-varied", under(rest, inquiry.first))
    if not failed.trouble:
        return rest
    how = f"{_why_not(failed)}; the search for which of them it is was stopped"
    for one in rest:
        inquiry.leave_out(one, how)
    return ()


def _why_not(ran: InstrumentedRun) -> str:
    if ran.overdue:
        return f"{_CRASHED} within {ran.limit_s:g} s"
    refused = refusal(ran.folder / STDERR)
    return refused or f"{_CRASHED}: {ran.trouble}"
