"""The first call that gives something else for the same: found by a watch of all calls, and proven.

Two runs are compared call by call (see ``reprokit.diagnosis.calls``). Then what such calls gave and left
behind in one run is kept, and given to other runs in place of the call: where that makes them equal, and
without it they differ, the call is the cause. A call that differs and does not matter is acquitted likewise.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reprokit.diagnosis import Cause
from reprokit.diagnosis.calls import Candidate, Unlike, inexplicable, makers, read_calls
from reprokit.harness.diagnosing.call_experiments import Proof, told_of, watched
from reprokit.harness.diagnosing.conditions import InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import RuledOut
from reprokit.harness.diagnosing.free_runs import same
from reprokit.harness.diagnosing.inquiry import Investigation
from reprokit.harness.diagnosing.taps.telling import preload_taps, tell
from reprokit.harness.diagnosing.why_calls_differ import Reasons

#: A pair that is equal by luck is made again so often, while a run takes less than so many seconds.
_MORE_RUNS, _QUICK_S = 6, 20.0
#: So many suspicious lines are kept at most.
_MOST_CANDIDATES = 12
#: How often the stretch around the first difference is looked at more closely, and how many rounds at once.
_MOST_WINDOWS, _ROUNDS = 3, 2_000
#: Classes of PyTorch that do not say their module.
_OF_PYTORCH = {"Tensor", "TensorBase", "Generator"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstCall:
    """What the watch of calls found.

    Attributes:
        cause: With ``category: unknown`` where no experiment decides.
        more: Further causes, where it takes several calls together.
        proven: Whether substitution showed that it is the cause.
        not_seen: Types that could not be read, and how often.
    """

    cause: Cause
    more: tuple[Cause, ...] = ()
    proven: bool
    not_seen: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Runs whose calls were watched.

    Attributes:
        runs: All of them, those too that are equal.
        pair: Two of them that differ.
        unlike: Where their calls do.
    """

    runs: list[InstrumentedRun]
    pair: tuple[InstrumentedRun, InstrumentedRun]
    unlike: Unlike


def look_at_calls(inquiry: Investigation) -> Look | None:
    """Two runs that differ, with all calls watched; None where no such pair was made."""
    lab = inquiry.lab
    if inquiry.variations or not lab.can_make(2):
        return None
    lab.progress.phase("which call gives a different result for the same input?")
    runs: list[InstrumentedRun] = []
    found = _unlike(inquiry, runs)
    return None if found is None else Look(runs=runs, pair=found[0], unlike=found[1])


def is_in_a_library(look: Look, packages: Collection[str]) -> bool:
    """Whether the first inexplicable call is one of compiled code of these packages, and not PyTorch's.

    A class that is written in C or Rust may not say its module: its name comes first then.
    """
    for one in look.unlike.candidates[:1]:
        root = one.name.partition(".")[0]
        return root in packages or (root[:1].isupper() and root not in _OF_PYTORCH)
    return False


def by_first_call(inquiry: Investigation, look: Look) -> FirstCall | None:
    """The first inexplicable call of two runs; None where none was found."""
    if not look.unlike.candidates:
        return _only_where(inquiry, look)
    candidates = look.unlike.candidates[:_MOST_CANDIDATES]
    preload_taps(inquiry)
    proof = Proof(inquiry, look.runs)
    try:
        return _judged(proof, candidates, look)
    finally:
        proof.remove()


def _judged(proof: Proof, candidates: tuple[Candidate, ...], look: Look) -> FirstCall:
    """By threads first, which takes fewer runs: where they decide, and one call alone differs, it is that."""
    first, reasons = candidates[0], Reasons(proof, look.pair)
    pool = None if any(one.elsewhere for one in candidates) else reasons.pool(first)
    held: tuple[Candidate, ...] = ()
    not_seen = _not_seen(look.pair)
    if pool and len(candidates) == 1 and not look.unlike.sampled:
        held = candidates
    else:
        earlier = makers(read_calls(look.pair[0].traced), first)
        if proof.begin(candidates, beside=earlier):
            made = _by_maker(proof, reasons, earlier)
            if made is not None:
                return FirstCall(cause=made, proven=False, not_seen=not_seen)
            held = proof.held(candidates)
    for one in held or candidates[:1]:
        tell(proof, one)
    if not held:
        pool = pool or reasons.processes()
        known = reasons.by_threads(first, pool) if pool else reasons.by_taps(first)
        cause = known or _unproven(first, proof)
        return FirstCall(cause=cause, more=reasons.besides, proven=False, not_seen=not_seen)
    inquiry = proof.inquiry
    inquiry.odds_of_others = pool.odds if pool else proof.odds
    cause, *more = (reasons.cause(one) for one in held)
    named = (cause, *more, *reasons.besides)
    for one in candidates:
        if one.at < held[-1].at and (one.file, one.line) not in {(each.file, each.line) for each in named}:
            how = "left as it is, the runs are equal all the same"
            inquiry.ruled_out.append(RuledOut(what=f"{one.name}, {one.file}:{one.line}", how=how))
    return FirstCall(cause=cause, more=named[1:], proven=True, not_seen=not_seen)


def _by_maker(proof: Proof, reasons: Reasons, earlier: Sequence[Candidate]) -> Cause | None:
    """The call that made or changed what cannot be read, if what compiled code asks for inside it decides.

    What differs later only shows there what that call left.
    """
    for one in earlier:
        if reasons.starts_threads(one) and (cause := reasons.by_taps(one)) is not None:
            tell(proof, one)
            return cause
    return None


def _unlike(
    inquiry: Investigation, runs: list[InstrumentedRun]
) -> tuple[tuple[InstrumentedRun, InstrumentedRun], Unlike] | None:
    """Two runs that differ and where their calls do; None where no such pair was made.

    ``runs`` takes up all of them, those too that are equal.
    """
    window: dict[str, Any] | None = None
    last = None
    for _ in range(1 + _MOST_WINDOWS):
        pair = _pair(inquiry, window, runs)
        if pair is None:
            return last
        unlike = inexplicable(*(read_calls(one.traced) for one in pair))
        if unlike.first is None:
            return last
        last = pair, unlike
        now = {"first": list(unlike.since) if unlike.since else None, "most": _ROUNDS}
        if not unlike.sampled_before or now == window or not inquiry.lab.can_make(2):
            break
        window = now
    return last


def _pair(
    inquiry: Investigation, window: dict[str, Any] | None, runs: list[InstrumentedRun]
) -> tuple[InstrumentedRun, InstrumentedRun] | None:
    """Two runs whose calls are watched, and that differ; a quick program is run again until it does."""
    lab = inquiry.lab
    given = watched(inquiry, mode="watch", window=window)
    first = inquiry.watched_run if window is None and not inquiry.hash_is_free else None
    first = first or lab.run("calls", given)
    if first.trouble:
        inquiry.known.append(f"with its calls watched the program does not finish: {first.trouble}")
        return None
    runs.append(first)
    made = 0
    most = max(_MORE_RUNS, lab.pairs) if inquiry.is_rare else _MORE_RUNS
    while lab.can_make(1) and made <= (most if first.duration_s < _QUICK_S else 1):
        made += 1
        second = lab.run("calls", given)
        if second.trouble:
            continue
        runs.append(second)
        if not same(inquiry, first, second):
            return first, second
    inquiry.known.append(f"with its calls watched the program was equal in {made + 1} runs")
    return None


def _not_seen(pair: Sequence[InstrumentedRun]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, fact in pair[0].trace.facts.items():
        if name.startswith("calls ") and isinstance(fact, dict):
            for kind, (count, _) in (fact.get("unseen") or {}).items():
                found[kind] = found.get(kind, 0) + int(count)
    return found


def _unproven(one: Candidate, proof: Proof) -> Cause:
    """The line of the first inexplicable call, where substitution proves nothing."""
    reason = proof.problem or _why_not(one, proof.kept)
    what = f"{one.name}: the first call that gives a different result for the same input; {reason}"
    return Cause(category="unknown", file=one.file, line=one.line, what=what, fix="", confidence="low")


def _why_not(one: Candidate, kept: Sequence[InstrumentedRun]) -> str:
    for ran in kept:
        for record in told_of(ran):
            if record["site"] == one.site and "note" in record:
                return f"what it gave cannot be kept: {record['note']}"
    return "given the other run's result, the runs differ all the same"


def _only_where(inquiry: Investigation, look: Look) -> FirstCall | None:
    """The first call that differs, where it was given something else already and no call explains that.

    Then it may be processes of a pool: each does the same as in the other run, for another task.
    """
    one = look.unlike.first
    if one is None:
        return None
    reasons = Reasons(Proof(inquiry, look.runs), look.pair)
    if (pool := reasons.processes()) is not None:
        inquiry.odds_of_others = pool.odds
        what = f"{one.name}: the first that differ here: {pool.name} work in another order"
        cause = replace(reasons.by_threads(one, pool), what=what)
        return FirstCall(cause=cause, more=reasons.besides, proven=False)
    what = f"{one.name}: the first call that differs; its input differs already, which no call explains"
    cause = Cause(category="unknown", file=one.file, line=one.line, what=what, fix="", confidence="low")
    return FirstCall(cause=cause, proven=False)
