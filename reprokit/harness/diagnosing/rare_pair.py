"""Two runs that differ, of a program that seldom does: runs are recorded until one of each kind is held.

The rare one of them then is the run whose values are replayed. A run that becomes it is no luck, since hardly
any run does by itself; one that becomes the usual one is.
"""

from __future__ import annotations

from reprokit.core.statistics.shares import at_most
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.inquiry import Investigation
from reprokit.harness.diagnosing.instrumented_runs import need

#: So many runs must be left for a cause.
_LEFT_FOR_A_CAUSE = 8
#: A result that at most this share of the runs has is rare.
_RARE = 0.5


def record_until_one_differs(inquiry: Investigation, alike: Conditions) -> bool:
    """Record runs until one differs and two are equal; whether the rare one became the first run.

    Nothing is recorded where a pair is all that was asked for.
    """
    lab = inquiry.lab
    if lab.pairs <= 2:
        return False
    lab.progress.phase("which runs differ?")
    kinds = [[inquiry.first]]
    _add(inquiry, kinds, inquiry.other)
    while lab.made < lab.pairs and lab.can_make(_LEFT_FOR_A_CAUSE) and not _has_both(kinds):
        _add(inquiry, kinds, need(lab.run("again", alike)))
    made = sum(map(len, kinds))
    usual = max(kinds, key=len)
    others = [kind for kind in kinds if kind is not usual]
    if not others:
        inquiry.known.append(f"none of {made} recorded runs differs: at most {at_most(made):.0%} of runs do")
        inquiry.free_equal += made - 2
        return False
    rare = others[-1][0]
    inquiry.first, inquiry.other = rare, usual[0]
    inquiry.recorded = tuple(one for kind in kinds for one in kind if one is not rare and one is not usual[0])
    inquiry.is_rare = len(usual) > 1
    few = made - len(usual)
    inquiry.known.append(
        f"{few} of {made} recorded runs {'differs' if few == 1 else 'differ'} from the others"
    )
    return True


def _add(inquiry: Investigation, kinds: list[list[InstrumentedRun]], ran: InstrumentedRun) -> None:
    """Put a run to those that it equals."""
    for kind in kinds:
        if inquiry.lab.equal(kind[0], ran):
            kind.append(ran)
            return
    kinds.append([ran])


def _has_both(kinds: list[list[InstrumentedRun]]) -> bool:
    """Whether there is a usual result, and one that is not; or so many results that none is usual."""
    return len(kinds) > 3 or (len(kinds) > 1 and max(map(len, kinds)) > 1)


def is_one_of_few(inquiry: Investigation, ran: InstrumentedRun) -> bool:
    """Whether a run is not a usual one; any run, where none is."""
    return not inquiry.is_rare or not inquiry.lab.equal(inquiry.other, ran)
