"""The first call that gives something else for the same: found by a watch of all calls, and proven.

Two runs are compared call by call (see ``reprokit.diagnosis.calls``). Then what such calls gave and left
behind in one run is kept, and given to other runs in place of the call: where that makes them equal, and
without it they differ, the call is the cause. A call that differs and does not matter is acquitted likewise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reprokit import diagnosis
from reprokit.diagnosis import Cause
from reprokit.diagnosis.calls import Candidate, Unlike, inexplicable, read_calls
from reprokit.errors import MetricsError
from reprokit.harness.diagnosing import why_calls_differ
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import RuledOut
from reprokit.harness.diagnosing.inquiry import Investigation

#: A pair that is equal by luck is made again so often, while a run takes less than so many seconds.
_MORE_RUNS, _QUICK_S = 6, 20.0
#: So many suspicious lines are kept at most, and so many are tried alone where all together prove nothing.
_MOST_CANDIDATES, _MOST_ALONE = 12, 3
#: How often the stretch around the first difference is looked at more closely, and how many rounds at once.
_MOST_WINDOWS, _ROUNDS = 3, 2_000
#: A proof that luck would give as often is none.
_LUCK = 0.01


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


def by_first_call(inquiry: Investigation) -> FirstCall | None:
    """The first inexplicable call of two runs; None where none was found."""
    lab = inquiry.lab
    if inquiry.variations or not lab.can_make(2):
        return None
    lab.progress.phase("which call gives another result for the same?")
    found = _unlike(inquiry)
    if found is None:
        return None
    pair, unlike = found
    if not unlike.candidates:
        return _only_where(unlike)
    proof = _Proof(inquiry, pair)
    held = proof.held(unlike.candidates[:_MOST_CANDIDATES])
    not_seen = _not_seen(pair)
    if not held:
        return FirstCall(cause=_unproven(unlike.candidates[0], proof), proven=False, not_seen=not_seen)
    for one in unlike.candidates[:_MOST_CANDIDATES]:
        if one not in held and one.at < held[-1].at:
            how = "left as it is, the runs are equal all the same"
            inquiry.ruled_out.append(RuledOut(what=f"{one.name}, {one.file}:{one.line}", how=how))
    first, *more = why_calls_differ.causes(proof, held)
    return FirstCall(cause=first, more=tuple(more), proven=True, not_seen=not_seen)


def watched(inquiry: Investigation, **orders: Any) -> Conditions:
    """The conditions of a run in which calls alone are watched; hash seed and files are the first run's."""
    return Conditions(like=inquiry.first, hash_seed=True, fresh=True, level="calls", calls=orders)


def _unlike(inquiry: Investigation) -> tuple[tuple[InstrumentedRun, InstrumentedRun], Unlike] | None:
    """Two runs that differ and where their calls do; None where no such pair was made."""
    window: dict[str, Any] | None = None
    last = None
    for _ in range(1 + _MOST_WINDOWS):
        pair = _pair(inquiry, window)
        if pair is None:
            return last
        unlike = inexplicable(*(read_calls(one.traced) for one in pair))
        if unlike.first is None:
            return last
        last = pair, unlike
        if unlike.window is None or not inquiry.lab.can_make(2):
            break
        now = {"first": _place(unlike.window[0]), "last": _place(unlike.window[1]), "most": _ROUNDS}
        if now == window:
            break
        window = now
    return last


def _place(found: tuple[str, int] | None) -> list[Any] | None:
    return list(found) if found else None


def _pair(
    inquiry: Investigation, window: dict[str, Any] | None
) -> tuple[InstrumentedRun, InstrumentedRun] | None:
    """Two runs whose calls are watched, and that differ; a quick program is run again until it does."""
    lab = inquiry.lab
    given = watched(inquiry, mode="watch", window=window)
    first = lab.run("calls", given)
    if first.trouble:
        inquiry.known.append(f"with its calls watched the program does not finish: {first.trouble}")
        return None
    made = 0
    while lab.can_make(1) and made <= (_MORE_RUNS if first.duration_s < _QUICK_S else 1):
        made += 1
        second = lab.run("calls", given)
        if not second.trouble and not same(inquiry, first, second):
            return first, second
    inquiry.known.append(f"with its calls watched the program was equal in {made + 1} runs")
    return None


def same(inquiry: Investigation, first: InstrumentedRun, second: InstrumentedRun) -> bool:
    """Whether two runs have the same numbers; one that left none equals no other."""
    try:
        return inquiry.lab.equal(first, second)
    except MetricsError:
        return False


class _Proof:
    """Experiments with the suspicious calls of two runs.

    Attributes:
        kept: A run in which what the calls gave is kept; and a second one, to compare.
        confidence: Of what was proven.
    """

    def __init__(self, inquiry: Investigation, pair: tuple[InstrumentedRun, InstrumentedRun]) -> None:
        self.inquiry = inquiry
        self.free: list[InstrumentedRun] = list(pair)
        self.kept: list[InstrumentedRun] = []
        self.confidence = "medium"
        self.problem = ""
        self._equal: dict[tuple[str, ...], list[bool]] = {}
        self._standard: dict[tuple[str, ...], InstrumentedRun] = {}

    def held(self, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """The smallest set of calls whose substitution makes runs equal; empty where none does."""
        lab = self.inquiry.lab
        if not lab.can_make(3):
            self.problem = "the budget is used up"
            return ()
        sites = [one.site for one in candidates]
        for _ in range(2):
            ran = lab.run("calls-kept", watched(self.inquiry, mode="keep", sites=sites))
            if ran.trouble:
                self.problem = "where its results are kept the program does not finish"
                return ()
            self.kept.append(ran)
            self.free.append(ran)
        lab.progress.phase("does its result decide the difference?")
        found = self._isolated(candidates)
        if not found or not self._confirmed(found):
            return ()
        rest = tuple(one for one in candidates if one not in found)
        alone = not rest or not lab.can_make(1) or not self._enough(rest)
        seen = not any(one.unseen for one in found)
        self.confidence = "high" if alone and seen else "medium"
        return found

    def _isolated(self, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        everything = tuple(candidates)
        if self._enough(everything):
            return diagnosis.isolate(everything, enough=self._enough)
        for one in everything[:_MOST_ALONE]:  # of the others one may write what is compared
            if len(everything) > 1 and self.inquiry.lab.can_make(1) and self._enough((one,)):
                return (one,)
        return ()

    def _enough(self, held: tuple[Candidate, ...]) -> bool:
        """Whether a run in which these calls give what they gave equals the one in which that was kept."""
        key = tuple(one.site for one in held)
        equal = self._equal.setdefault(key, [])
        if not equal:
            equal.append(self._given(held))
        return all(equal)

    def _given(self, held: tuple[Candidate, ...]) -> bool:
        """One more run with these.

        Calls of threads and workers that are told alike are all given the same, which makes other numbers
        than those of the run in which they were kept: there the first such run is what others have to equal.
        """
        lab, key = self.inquiry.lab, tuple(one.site for one in held)
        given = replace(watched(self.inquiry, mode="give", sites=list(key)), like=self.kept[0])
        standard = self._standard.get(key, self.kept[0])
        if any(one.elsewhere for one in held) and key not in self._standard:
            standard = lab.run("calls-given", given)
            if standard.trouble or not _were_given(standard):
                return False
            self._standard[key] = standard
        if not lab.can_make(1):
            return False
        ran = lab.run("calls-given", given)
        return not ran.trouble and _were_given(ran) and same(self.inquiry, standard, ran)

    def _confirmed(self, held: tuple[Candidate, ...]) -> bool:
        """Whether so many runs with these are equal that it is no luck, each of them."""
        equal = self._equal.setdefault(tuple(one.site for one in held), [])
        while all(equal) and self._luck() ** len(equal) >= _LUCK:
            if not self.inquiry.lab.can_make(1):
                self.problem = f"the budget is used up: equal in {len(equal)} runs, which may be luck"
                return False
            equal.append(self._given(held))
        if not all(equal):
            self.problem = "with its result given the runs are equal only sometimes"
        return all(equal)

    def equal_under(
        self, *, calls: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
    ) -> bool:
        """Whether runs under these conditions are all equal, so many that it is no luck."""
        lab = self.inquiry.lab
        given = watched(self.inquiry, **(calls or {"mode": "off"}))
        given = replace(given, environment=dict(environment or {}))
        label = "-".join(["under", *(calls or {}).values(), *(environment or {})])[:40].lower()
        if not lab.can_make(2):
            return False
        standard = lab.run(label, given)
        if standard.trouble or any(_late(fact) for fact in standard.trace.facts.values()):
            return False
        equal = 0
        while self._luck() ** equal >= _LUCK:
            if not lab.can_make(1) or not same(self.inquiry, standard, lab.run(label, given)):
                return False
            equal += 1
        return True

    def _luck(self) -> float:
        """How likely it is, from the runs in which nothing was given, that two runs are equal."""
        pairs = [(one, other) for number, one in enumerate(self.free) for other in self.free[number + 1 :]]
        equal = sum(same(self.inquiry, one, other) for one, other in pairs)
        return (1 + equal) / (2 + len(pairs))


def _were_given(ran: InstrumentedRun) -> bool:
    """Whether any call was given its result, and none failed to take it."""
    notes = notes_of(ran)
    return any(one.endswith(": given") for one in notes)


def _late(fact: object) -> bool:
    """Whether tasks did not wait for their turn to the end."""
    return isinstance(fact, dict) and bool(fact.get("late"))


def notes_of(ran: InstrumentedRun) -> dict[str, int]:
    """What the watch of calls noted in a run, all processes together."""
    found: dict[str, int] = {}
    for name, fact in ran.trace.facts.items():
        if name.startswith("calls ") and isinstance(fact, dict):
            for note, count in (fact.get("notes") or {}).items():
                found[note] = found.get(note, 0) + int(count)
    return found


def _not_seen(pair: Sequence[InstrumentedRun]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, fact in pair[0].trace.facts.items():
        if name.startswith("calls ") and isinstance(fact, dict):
            for kind, (count, _) in (fact.get("unseen") or {}).items():
                found[kind] = found.get(kind, 0) + int(count)
    return found


def _unproven(one: Candidate, proof: _Proof) -> Cause:
    """The line of the first inexplicable call, where substitution proves nothing."""
    reason = proof.problem or _why_not(one, proof.kept)
    what = f"{one.name}: the first call that gives something else for the same; {reason}"
    return Cause(category="unknown", file=one.file, line=one.line, what=what, fix="", confidence="low")


def _why_not(one: Candidate, kept: Sequence[InstrumentedRun]) -> str:
    for ran in kept:
        for note in notes_of(ran):
            if note.startswith(one.site):
                return f"what it gave cannot be kept: {note.removeprefix(one.site).lstrip(': ')}"
    return "given the other run's result, the runs differ all the same"


def _only_where(unlike: Unlike) -> FirstCall | None:
    """The first call that differs, where it was given something else already and no call explains that."""
    one = unlike.first
    if one is None:
        return None
    what = (
        f"{one.name}: the first call that differs; what it is given differs already, which no call explains"
    )
    cause = Cause(category="unknown", file=one.file, line=one.line, what=what, fix="", confidence="low")
    return FirstCall(cause=cause, proven=False)
