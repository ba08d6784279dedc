"""Experiments with calls: what some of them gave in one run is given to others in their place."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reprokit import diagnosis
from reprokit.diagnosis.calls import Candidate
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.free_runs import FreeRuns, same
from reprokit.harness.diagnosing.inquiry import Investigation
from reprokit.harness.diagnosing.odds import ACCEPTED, Odds
from reprokit.harness.diagnosing.rare_pair import is_one_of_few
from reprokit.harness.diagnosing.taps.preloaded import Taps
from reprokit.harness.diagnosing.taps.seen import gave_up

#: So many lines are tried alone where all together prove nothing.
_MOST_ALONE = 3
#: A look that luck would give as often is repeated.
_LUCK_IN_SEARCH = 0.2
#: Modes of the watch of calls in which threads of Python wait for one another.
_IN_TURN = frozenset({"one", "turns"})


def watched(inquiry: Investigation, **orders: Any) -> Conditions:
    """A run in which calls alone are watched; files, and mostly the hash seed, are as in the first."""
    seed = not inquiry.hash_is_free
    return Conditions(like=inquiry.first, hash_seed=seed, fresh=True, level="calls", calls=orders)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """A run that others equal, and how unlikely it is that this is luck."""

    run: InstrumentedRun
    odds: Odds


class Proof:
    """Experiments with the suspicious calls of two runs.

    Attributes:
        kept: A run in which what the calls gave is kept; and a second one, where runs are equal now and then.
        odds: Of what was proven, or None.
        refuted: Whether a run to which results were given differed all the same.
    """

    def __init__(self, inquiry: Investigation, watched_runs: Sequence[InstrumentedRun]) -> None:
        self.inquiry = inquiry
        self._free = FreeRuns(inquiry, watched_runs)
        self.kept: list[InstrumentedRun] = []
        self.problem = ""
        self.odds: Odds | None = None
        self.refuted = False
        self._seen: dict[tuple[str, ...], list[bool]] = {}
        self._standard: dict[tuple[str, ...], InstrumentedRun] = {}
        self._sites: list[str] = []
        self._unlike: list[frozenset[str]] = []
        self._failed: set[frozenset[str]] = set()

    def begin(self, candidates: Sequence[Candidate], *, beside: Sequence[Candidate] = ()) -> bool:
        """Keep what these calls give; whether that could be done.

        ``beside``: calls of which it is only to be seen what compiled code asks for inside them.
        """
        lab = self.inquiry.lab
        if not lab.can_make(3):
            self.problem = "the budget is used up"
            return False
        self._sites = [one.site for one in (*candidates, *beside)]
        kept = self.keep()
        while kept and not is_one_of_few(self.inquiry, self.kept[-1]) and lab.can_make(3):
            self.remove()
            self.kept.clear()
            kept = self.keep()
        if kept and lab.can_make(2) and not self._free.all_differ:
            kept = self.keep()  # where runs are equal now and then, one more shows how often
        if not kept:
            self.problem = "where its results are kept the program does not finish"
        return kept

    def held(self, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Of the calls kept, the smallest set whose substitution makes runs equal; empty where none does."""
        self.inquiry.lab.progress.phase("does its result decide the difference?")
        found = self._isolated(candidates)
        return found if found and self._confirmed(found) else ()

    def refutes(self, one: Candidate) -> bool:
        """Whether a run to which this call's result was given differs all the same: a brief look."""
        self._sites = [one.site]
        kept = self.inquiry.lab.can_make(2) and self.keep()
        return kept and not self._enough((one,)) and self.refuted

    def keep(self) -> bool:
        """Keep in one more run what the calls give; whether it finished, with the native taps or without."""
        inquiry = self.inquiry
        given = replace(watched(inquiry, mode="keep", sites=self._sites), taps=inquiry.taps)
        ran = inquiry.lab.run("calls-kept", given)
        if ran.trouble and inquiry.taps is not None and inquiry.lab.can_make(1):
            inquiry.known.append(f"with the native taps in it the program does not finish: {ran.trouble}")
            inquiry.taps = None
            return self.keep()
        if ran.trouble:
            return False
        self.kept.append(ran)
        self._free.add(ran)
        return True

    def remove(self) -> None:
        """Remove what was kept: it is large, and of no use to anyone."""
        for ran in self.kept:
            for path in ran.traced.glob("kept-*.pickles"):
                path.unlink(missing_ok=True)

    def _isolated(self, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        everything = tuple(candidates)
        if self._enough(everything[:1]):  # what follows from a cause cannot be explained either
            return everything[:1]
        if self._enough(everything):
            return diagnosis.isolate(everything, enough=self._enough)
        for one in everything[1:_MOST_ALONE]:  # of the others one may write what is compared
            if self.inquiry.lab.can_make(1) and self._enough((one,)):
                return (one,)
        return ()

    def _enough(self, held: tuple[Candidate, ...]) -> bool:
        """Whether runs in which these calls give what they gave equal the one in which that was kept."""
        key = tuple(one.site for one in held)
        seen = self._seen.setdefault(key, [])
        while all(seen) and self._odds(len(seen), key).luck >= _LUCK_IN_SEARCH:
            seen.append(self._given(held))
        return all(seen)

    def _given(self, held: tuple[Candidate, ...]) -> bool:
        """One more run with these.

        Calls of threads and workers that are identified alike are all given the same, which makes numbers
        different from those of the run in which they were kept: there the first such run is
        what others have to equal.
        """
        lab, key = self.inquiry.lab, tuple(one.site for one in held)
        given = replace(watched(self.inquiry, mode="give", sites=list(key)), like=self.kept[0])
        standard = self._standard_of(key)
        if any(one.elsewhere for one in held) and key not in self._standard:
            standard = lab.run("calls-given", given)
            if standard.trouble or not _were_given(standard):
                return False
            self._standard[key] = standard
        if not lab.can_make(1):
            return False
        ran = lab.run("calls-given", given)
        if ran.trouble or not _were_given(ran):
            return False
        equal = same(self.inquiry, standard, ran)
        self.refuted |= not equal
        return equal

    def _odds(self, repeated: int, key: tuple[str, ...], *, looks: int = 1) -> Odds:
        return self._free.odds(repeated, self._standard_of(key), looks=looks, source=self.kept[0])

    def _standard_of(self, key: tuple[str, ...]) -> InstrumentedRun:
        """The run that those in which these calls were given have to equal."""
        return self._standard.get(key, self.kept[0])

    def _confirmed(self, held: tuple[Candidate, ...]) -> bool:
        """Whether so many more runs with these are equal that it is no luck, all looks together."""
        key = tuple(one.site for one in held)
        seen = self._seen[key]
        while not _unlikely(odds := self._odds(len(seen), key, looks=len(self._seen)), ACCEPTED):
            if not self.inquiry.lab.can_make(1):
                self.problem = f"the budget is used up: equal in {len(seen)} runs, which may be luck"
                return False
            seen.append(self._given(held))
            if not seen[-1]:
                self.problem = "with its result given the runs are equal only sometimes"
                return False
        self.odds = odds
        return True

    def equal_under(
        self,
        *,
        calls: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        start: tuple[str, ...] = (),
        taps: Taps | None = None,
        one_worker: bool = False,
        pins: tuple[str, ...] = (),
        like: InstrumentedRun | None = None,
        accepted: float = ACCEPTED,
        before: int = 0,
        looks: int = 1,
    ) -> Alike | None:
        """A run that more under these conditions equal; None where one differs.

        Where two runs under the same conditions and more differed, no run is made.

        Args:
            calls: Orders for the watch of calls; None for none of it.
            environment: Variables to set.
            start: What to change of what a process inherits.
            taps: What is held of what compiled code asks for.
            one_worker: Whether each pool of processes has one of them.
            pins: Lines that have the first run's values; calls are not watched then.
            like: One that they have to equal, under conditions that include these.
            accepted: So unlikely luck must be.
            before: How many equalled that one before.
            looks: How many conditions were tried.
        """
        lab = self.inquiry.lab
        given = watched(self.inquiry, **(calls or {"mode": "off"}))
        given = replace(given, environment=dict(environment or {}), start=start, taps=taps)
        if one_worker:
            given = replace(given, state={"one_worker": True})
        if pins:
            given = replace(given, pins=pins, level="light", calls={})
        held = [word for word in ("entropy",) if word in given.calls]
        mode = [given.calls["mode"]] if calls else []
        worker = ["one-worker"] if one_worker else []
        label = _label([*held, *mode, *worker, *(environment or {}), *start], taps)
        conditions = _conditions(given)
        if self._are_in_vain(conditions):
            return None
        standard, equal = like, before
        while True:
            if standard is not None:
                odds = self._free.odds(equal, standard, looks=looks)
                if _unlikely(odds, accepted):
                    return Alike(run=standard, odds=odds)
            if not lab.can_make(1 if standard else 2):
                return None
            ran = lab.run(label, given)
            if ran.trouble or (given.calls.get("mode") in _IN_TURN and not _in_turn(ran)) or gave_up(ran):
                self._failed.add(conditions)
                return None
            if standard is not None and not same(self.inquiry, standard, ran):
                self._unlike += [] if like else [conditions]  # what differs from that one may equal its like
                return None
            standard, equal = standard or ran, equal + (standard is not None)

    def _are_in_vain(self, conditions: frozenset[str]) -> bool:
        """Whether runs under these conditions and more differed, or could not be made under these."""
        return conditions in self._failed or any(conditions <= more for more in self._unlike)


def _conditions(given: Conditions) -> frozenset[str]:
    """What is held in a run, as words: the more, the more is held."""
    calls = {f"{name} {value}" if name == "mode" else name for name, value in given.calls.items()}
    held = {f"taps {kind}" for kind in (given.taps.hold if given.taps else ())}
    variables = {f"{name}={value}" for name, value in given.environment.items()}
    return frozenset((calls - {"mode off"}) | held | variables | {*given.start, *given.state, *given.pins})


def _label(words: Sequence[str], taps: Taps | None) -> str:
    """What a run is made under."""
    held = ["taps", *taps.hold] if taps else []
    return "-".join(["under", *held, *(word.strip("-") for word in words)])[:40].lower()


def _unlikely(odds: Odds, accepted: float) -> bool:
    """Whether luck is, of at least one run."""
    return odds.repeated > 0 and (odds.enough or odds.luck < accepted)


def _were_given(ran: InstrumentedRun) -> bool:
    """Whether any call was given its result, and none failed to take it."""
    return any(record.get("note") == "given" for record in told_of(ran))


def _in_turn(ran: InstrumentedRun) -> bool:
    """Whether there were tasks of thread pools, and all of them waited for their turn to the end."""
    told = [fact for name, fact in ran.trace.facts.items() if name.startswith("turns ")]
    return any(fact["tasks"] for fact in told) and not any(fact["late"] for fact in told)


def told_of(ran: InstrumentedRun) -> list[dict[str, Any]]:
    """What the watch of calls recorded about the sites in a run, all processes together."""
    found: list[dict[str, Any]] = []
    for path in sorted(ran.traced.glob("calls-*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if isinstance(record, dict) and isinstance(record.get("site"), str):
                found.append(record)
    return found
