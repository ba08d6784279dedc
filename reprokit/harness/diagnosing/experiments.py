"""Which candidates are causes: runs in which all but some of them are held fixed.

The values of one run at a candidate line are replayed in another run. Where that makes the runs equal, and
replaying the other run's values reproduces the other run, the line is a cause. What is equal by chance, and
changes nothing, is no cause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reprokit import diagnosis
from reprokit.harness.diagnosing.diagnosis import RuledOut
from reprokit.harness.diagnosing.evidence import EQUAL_RUNS
from reprokit.harness.diagnosing.held_runs import equal_with, reproduces
from reprokit.harness.diagnosing.inquiry import (
    BY_HASH,
    CAREFUL,
    COMPILER,
    HASH_SEED,
    LEFTOVERS,
    VARIATION,
    Investigation,
    described,
    is_site,
)
from reprokit.harness.diagnosing.odds import by_rounding

#: Kinds of lines that seldom decide a number.
_SELDOM = frozenset(["library_clock", "thread_order"])
#: Kind → how likely such a line decides a number, where any other counts 1. Clocks, listings and conditions
#: are read in libraries too, mostly to no effect.
_LIKELY = {"unseeded": 8.0, "torch_unseeded": 8.0}
_LIKELY |= dict.fromkeys(["set_order", "completion_order", "queue_order"], 4.0)


def explain(
    inquiry: Investigation, *, before_search: Callable[[Investigation], None] | None = None
) -> tuple[str, ...] | None:
    """The smallest set to hold fixed for the other run to equal the first; None where nothing is enough.

    ``before_search`` is called where all of it is enough under natural conditions, and is to be divided.
    """
    lab = inquiry.lab
    lab.progress.phase("which line makes them differ?")
    units = _units(inquiry)
    inquiry.num_units = max(1, len(units))
    search = len(units).bit_length()
    lab.expect(search + max(0, inquiry.evidence(()).left - min(search, EQUAL_RUNS)))
    held = _suspected_units(inquiry, units, before_search)
    if not held or lab.spent:
        return held
    before = lab.made
    if inquiry.variations and LEFTOVERS not in held:
        held = _with_partners(inquiry, held, units)
        inquiry.suspect(held)
    if not lab.can_make(1):
        return held
    rest = _rest(units, held)
    alone = not rest or _differs_without(inquiry, held, rest)
    if not _brings_back(inquiry, held, rest):
        inquiry.suspected = ()
        inquiry.known.append(_suspected(inquiry, held, made=lab.made - before))
        return None
    if not _beyond_luck(inquiry, held):
        return held if inquiry.suspected else None
    inquiry.suspected = ()
    if alone:
        inquiry.confidence = "high"
    for one in rest:
        how = "the runs are equal even where this is left free"
        inquiry.ruled_out.append(RuledOut(what=described(inquiry, one), how=how))
    return held


def _suspected_units(
    inquiry: Investigation, units: tuple[str, ...], before_search: Callable[[Investigation], None] | None
) -> tuple[str, ...] | None:
    """The smallest set that was equal whenever it was held, confirmed unless the budget is used up."""
    lab = inquiry.lab
    if not units or not (inquiry.variations or _all_are_enough(inquiry, units)):
        return None
    if before_search is not None and not inquiry.variations:
        before_search(inquiry)
    held = _isolated(inquiry, units, repeats=1)
    if lab.cut is not None and not lab.spent:
        if not equal_with(inquiry, held, closely=True):
            lab.cut = None  # what differs later has another cause
            inquiry.forget_runs(but_different=True)
            return _suspected_units(inquiry, units, None)
        inquiry.confirmed += 1
    inquiry.suspect(held)
    if lab.spent or _confirmed(inquiry, held, rest=_rest(units, held)):
        return held
    held = ()
    if _enough(inquiry, units, repeats=CAREFUL):  # equal by luck: ask more than once
        held = _isolated(inquiry, units, repeats=CAREFUL)
    if not held or not _enough(inquiry, held, repeats=CAREFUL):
        inquiry.suspected = ()
        inquiry.known.append("what was held fixed made the runs equal only sometimes")
        return None
    inquiry.suspect(held)
    return held


def _all_are_enough(inquiry: Investigation, units: tuple[str, ...]) -> bool:
    """Whether the runs are equal where all is held: lines first, where one is likely to be enough.

    Seldom one is where they differ by rounding, or where the likeliest lines were held in vain: then all is
    held at once, in a whole run: one that differs counts among the free ones, which saves others later.
    """
    lab = inquiry.lab
    lines = tuple(unit for unit in units if unit not in _general(units))
    in_vain = any(held and not equal for held, equal in inquiry.held_runs)
    if in_vain or by_rounding(lab.compare(inquiry.first, inquiry.other)):
        cut, lab.cut = lab.cut, None
        enough = _enough(inquiry, units)
        lab.cut = cut
        return enough
    return bool(lines and _enough(inquiry, lines)) or _enough(inquiry, units)


def _confirmed(inquiry: Investigation, held: tuple[str, ...], *, rest: tuple[str, ...]) -> bool:
    """Whether every run in which these were held, with whatever else, is equal: in enough runs.

    Those that are made for it are looked at where the runs begin to differ. Where no run was left free yet,
    one goes first: the more outcomes there are, the fewer equal runs it takes.
    """
    wanted = frozenset(held)
    if not (inquiry.variations or inquiry.outcomes or inquiry.evidence(held).equal >= EQUAL_RUNS):
        equal_with(inquiry, rest)
    while True:
        seen = [equal for one, equal in inquiry.held_runs if wanted <= one]
        if not all(seen) or len(seen) >= inquiry.evidence(held).equal_wanted:
            return all(seen)
        inquiry.confirmed += equal_with(inquiry, held, closely=True)


def _differs_without(inquiry: Investigation, held: tuple[str, ...], rest: tuple[str, ...]) -> bool:
    """Whether runs differ in which everything is held but these."""
    seen = [
        equal for one, equal in inquiry.held_runs if frozenset(rest) <= one and not frozenset(held) <= one
    ]
    if len(seen) > 1 or not all(seen):
        return not all(seen)
    return not inquiry.lab.spent and not _enough(inquiry, rest, repeats=2)


def _with_partners(inquiry: Investigation, held: tuple[str, ...], units: tuple[str, ...]) -> tuple[str, ...]:
    """What is held, with what must change besides for the runs to differ.

    Holding one of two is enough where both are needed. Whatever comes before the one that was found was held
    in a run that differs, so it is not needed.
    """
    if reproduces(inquiry, held, closely=True):
        return held
    later = _in_order(units)
    later = later[later.index(held[0]) + 1 :] if len(held) == 1 else later
    others = tuple(one for one in later if one not in {*held, HASH_SEED, LEFTOVERS})
    if not others or inquiry.lab.spent:
        return held
    partners = diagnosis.isolate(
        others, enough=lambda some: not inquiry.lab.spent and reproduces(inquiry, (*held, *some))
    )
    both = (*held, *partners)
    if (frozenset(both), True) not in inquiry.given_runs and not reproduces(inquiry, both, closely=True):
        return held
    if reproduces(inquiry, partners, closely=True):  # what was held was equal by luck
        return partners
    inquiry.together = True
    names = " and ".join(described(inquiry, one) for one in both)
    inquiry.known.append(f"it takes {names} together: one of them alone changes no number")
    return both


def _rest(units: tuple[str, ...], held: tuple[str, ...]) -> tuple[str, ...]:
    """What else could be held; the hash seed counts as the order that it decides."""
    by_hash = any(one.split("|")[0] in BY_HASH for one in held)
    return tuple(
        unit
        for unit in units
        if unit not in held and not (by_hash and unit == HASH_SEED) and not unit.startswith(VARIATION)
    )


def _brings_back(inquiry: Investigation, held: tuple[str, ...], rest: tuple[str, ...]) -> bool:
    """Whether the difference follows what was held fixed, and not something rare that was not recorded.

    A rare, unrecorded cause leaves most runs equal, whatever is held. Given the other run's values, though, a
    run equals that other run each time only by the cause; and so does any run differ in which it is left
    free. Otherwise, most runs in which the suspected lines alone are left free must differ, and none in which
    they are held.
    """
    while inquiry.evidence(held).moves_left:
        if inquiry.lab.spent:
            return False
        if not reproduces(inquiry, held, closely=True):
            break
    else:
        return True
    if not all(equal_with(inquiry, held) for _ in range(EQUAL_RUNS)):
        return False
    differed = sum(not equal_with(inquiry, rest) for _ in range(CAREFUL))
    return 2 * differed > CAREFUL


def _beyond_luck(inquiry: Investigation, held: tuple[str, ...]) -> bool:
    """Whether enough runs were equal because these were held: luck explains so many in few answers only.

    A variation that differs is its doing only where runs without it, made as often, do not differ.
    """
    lab = inquiry.lab
    while not (odds := inquiry.odds(held)).enough:
        if lab.spent:
            inquiry.known.append(odds.bound())
            return False
        if odds.varied and odds.differ <= odds.repeated:
            as_expected = reproduces(inquiry, held) or 2 * odds.equal < odds.differ
        else:
            as_expected = equal_with(inquiry, held)
            inquiry.confirmed += as_expected
        if not as_expected:
            inquiry.suspected = ()
            inquiry.known.append(_by_luck(inquiry, held))
            return False
    return True


def _by_luck(inquiry: Investigation, held: tuple[str, ...]) -> str:
    names = ", ".join(described(inquiry, one) for one in held)
    equal = inquiry.evidence(held).equal
    return f"{names}: held fixed, {equal} runs were equal by luck, and one more differs"


def _suspected(inquiry: Investigation, held: tuple[str, ...], *, made: int) -> str:
    names = ", ".join(described(inquiry, one) for one in held)
    return (
        f"{names}: suspected, not proven: with it held fixed the runs were equal, "
        f"but it did not reproduce the difference each time ({made} more runs)"
    )


def _units(inquiry: Investigation) -> tuple[str, ...]:
    """Everything that could be held: lines whose values differ, hash seed, leftovers, variations."""
    differ = diagnosis.differing(inquiry.first.trace, inquiry.other.trace)
    units = [one for one in differ if not _switches_the_compiler(inquiry, one)]
    units.reverse()  # the line nearest to the numbers first: sorting a listing mends more than its names do
    if not inquiry.lab.hash_is_fixed:
        units.append(HASH_SEED)
    if inquiry.lab.left:
        units.append(LEFTOVERS)
    return (*units, *(VARIATION + variation.name for variation in inquiry.variations))


def _switches_the_compiler(inquiry: Investigation, unit: str) -> bool:
    """Whether PyTorch reads there if it is to compile, where hardly more was varied: no cause of its own."""
    varied = {one.name for one in inquiry.variations}
    return COMPILER in varied and varied <= {COMPILER, "threads"} and unit.startswith("environment|")


def _isolated(inquiry: Investigation, units: tuple[str, ...], *, repeats: int) -> tuple[str, ...]:
    return diagnosis.isolate(
        units,
        last=_general(units),
        weight=lambda one: _LIKELY.get(one.split("|")[0], 1.0),
        enough=lambda some: not inquiry.lab.spent and _enough(inquiry, some, repeats=repeats),
    )


def _general(units: Sequence[str]) -> tuple[str, ...]:
    """What is held only where no other line is enough; of many lines, some library reads the clock."""
    return tuple(unit for unit in units if not is_site(unit) or unit.split("|")[0] in _SELDOM)


def _in_order(units: Sequence[str]) -> tuple[str, ...]:
    """The order in which units are tried."""
    general = _general(units)
    return (*(unit for unit in units if unit not in general), *general)


def _enough(inquiry: Investigation, held: Sequence[str], *, repeats: int = 1) -> bool:
    """Whether holding these makes runs equal to the first: every one of them, those counted that were made.

    Where a run differs in which these and more were held, they are not enough.
    """
    wanted = frozenset(held)
    if not all(equal for one, equal in inquiry.held_runs if wanted <= one):
        return False
    made = sum(one == wanted for one, _ in inquiry.held_runs)
    return all(equal_with(inquiry, held) for _ in range(repeats - made))
