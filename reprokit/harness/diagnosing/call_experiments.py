"""Experiments with calls: what some of them gave in one run is given to others in their place."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reprokit import diagnosis
from reprokit.diagnosis.calls import Candidate
from reprokit.errors import MetricsError
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.inquiry import Investigation
from reprokit.harness.diagnosing.odds import Odds

#: So many lines are tried alone where all together prove nothing.
_MOST_ALONE = 3
#: A look that luck would give as often is repeated.
_LUCK_IN_SEARCH = 0.2


def watched(inquiry: Investigation, **orders: Any) -> Conditions:
    """The conditions of a run in which calls alone are watched; hash seed and files are the first run's."""
    return Conditions(like=inquiry.first, hash_seed=True, fresh=True, level="calls", calls=orders)


def same(inquiry: Investigation, first: InstrumentedRun, second: InstrumentedRun) -> bool:
    """Whether two runs have the same numbers; one that left none equals no other."""
    try:
        return inquiry.lab.equal(first, second)
    except MetricsError:
        return False


class Proof:
    """Experiments with the suspicious calls of two runs.

    Attributes:
        free: Runs in which nothing was given.
        kept: A run in which what the calls gave is kept; and a second one, to compare.
        confidence: Of what was proven.
        odds: Of what was proven, or None.
    """

    def __init__(self, inquiry: Investigation, free: Sequence[InstrumentedRun]) -> None:
        self.inquiry = inquiry
        self.free = list(free)
        self.kept: list[InstrumentedRun] = []
        self.confidence = "medium"
        self.problem = ""
        self.odds: Odds | None = None
        self._seen: dict[tuple[str, ...], list[bool]] = {}
        self._pairs: dict[tuple[str, str], bool] = {}
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
        self.confidence = "medium" if any(one.unseen for one in found) else "high"
        return found

    def remove(self) -> None:
        """Remove what was kept: it is large, and of no use to anyone."""
        for ran in self.kept:
            for path in ran.traced.glob("kept-*.pickles"):
                path.unlink(missing_ok=True)

    def _isolated(self, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        everything = tuple(candidates)
        if self._enough(everything):
            return diagnosis.isolate(everything, enough=self._enough)
        for one in everything[:_MOST_ALONE]:  # of the others one may write what is compared
            if len(everything) > 1 and self.inquiry.lab.can_make(1) and self._enough((one,)):
                return (one,)
        return ()

    def _enough(self, held: tuple[Candidate, ...]) -> bool:
        """Whether runs in which these calls give what they gave equal the one in which that was kept."""
        key = tuple(one.site for one in held)
        seen = self._seen.setdefault(key, [])
        while all(seen) and self._odds(len(seen), self._standard_of(key)).luck >= _LUCK_IN_SEARCH:
            seen.append(self._given(held))
        return all(seen)

    def _given(self, held: tuple[Candidate, ...]) -> bool:
        """One more run with these.

        Calls of threads and workers that are told alike are all given the same, which makes other numbers
        than those of the run in which they were kept: there the first such run is what others have to equal.
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
        return not ran.trouble and _were_given(ran) and same(self.inquiry, standard, ran)

    def _standard_of(self, key: tuple[str, ...]) -> InstrumentedRun:
        """The run that those in which these calls were given have to equal."""
        return self._standard.get(key, self.kept[0])

    def _confirmed(self, held: tuple[Candidate, ...]) -> bool:
        """Whether so many more runs with these are equal that it is no luck, all looks together."""
        key = tuple(one.site for one in held)
        seen, standard = self._seen[key], self._standard_of(key)
        while not (odds := self._odds(len(seen), standard, looks=len(self._seen))).enough:
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
        like: InstrumentedRun | None = None,
        once: bool = False,
    ) -> InstrumentedRun | None:
        """A run that more under these conditions equal, so many that it is no luck; None where one differs.

        Args:
            calls: Orders for the watch of calls; None for none of it.
            environment: Variables to set.
            like: One that they may equal too, under conditions that include these.
            once: Whether one that equals it is enough.
        """
        lab = self.inquiry.lab
        given = watched(self.inquiry, **(calls or {"mode": "off"}))
        given = replace(given, environment=dict(environment or {}))
        label = "-".join(["under", *(calls or {}).values(), *(environment or {})])[:40].lower()
        standard, equal = like, 0
        while equal < 1 if once else standard is None or not self._odds(equal, standard).enough:
            if not lab.can_make(1 if standard else 2):
                return None
            ran = lab.run(label, given)
            if ran.trouble or (calls and not _in_turn(ran)):
                return None
            if standard is not None and same(self.inquiry, standard, ran):
                equal += 1
            elif standard is like:
                standard, equal = ran, 0
            else:
                return None
        return standard

    def _odds(self, repeated: int, standard: InstrumentedRun, *, looks: int = 1) -> Odds:
        """Of so many runs that equal another one, from how many in which nothing was given equal that one."""
        found = [self._equal(standard, one) for one in self.free if one is not standard]
        as_first = [equal for held, equal in self.inquiry.held_runs if not held]
        as_first += [True] * self.inquiry.free_equal
        if self._equal(standard, self.inquiry.first):
            found += as_first
        else:
            found += [False] * sum(as_first)  # of the others it is not known
        equal = sum(found)
        return Odds(differ=len(found) - equal, equal=equal, repeated=repeated, looks=looks)

    def _equal(self, one: InstrumentedRun, other: InstrumentedRun) -> bool:
        key = one.label, other.label
        if key not in self._pairs:
            self._pairs[key] = same(self.inquiry, one, other)
        return self._pairs[key]


def _were_given(ran: InstrumentedRun) -> bool:
    """Whether any call was given its result, and none failed to take it."""
    return any(record.get("note") == "given" for record in told_of(ran))


def _in_turn(ran: InstrumentedRun) -> bool:
    """Whether there were tasks of thread pools, and all of them waited for their turn to the end."""
    told = [fact for name, fact in ran.trace.facts.items() if name.startswith("turns ")]
    return any(fact["tasks"] for fact in told) and not any(fact["late"] for fact in told)


def told_of(ran: InstrumentedRun) -> list[dict[str, Any]]:
    """What the watch of calls told of the sites in a run, all processes together."""
    found: list[dict[str, Any]] = []
    for path in sorted(ran.traced.glob("calls-*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if isinstance(record, dict) and isinstance(record.get("site"), str):
                found.append(record)
    return found
