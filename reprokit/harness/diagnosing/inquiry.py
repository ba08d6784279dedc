"""What is known so far about two runs, and how their suspicions are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reprokit.core.verdicts.rows import counted
from reprokit.diagnosis import Began, Cause, category_of
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import RuledOut
from reprokit.harness.diagnosing.evidence import SuspicionEvidence
from reprokit.harness.diagnosing.instrumented_runs import InstrumentedProgram
from reprokit.harness.diagnosing.odds import Odds, in_full_precision
from reprokit.harness.diagnosing.taps.preloaded import Taps
from reprokit.harness.running.varying.apply_variations import joined
from reprokit.variations import Variation, VariationNotMade

HASH_SEED, LEFTOVERS, VARIATION = "hash seed", "leftovers", "variation "
#: The variation that diagnose makes by itself where PyTorch runs.
COMPILER = "compiler"
#: In how many runs nothing else is held, where runs were equal by luck before.
CAREFUL = 5
BY_HASH = {"set_order", "hash"}


@dataclass(slots=True)
class Investigation:
    """What is known so far about two runs.

    Attributes:
        other: A run that differs from it.
        variations: What was varied for ``other``.
        unmade: Names of the variations that were not made.
        causes: What was found without holding a line.
        confidence: Of what is held.
        began: Where it began, as far as that is known.
        held_runs: What was held in a run, and whether it equals the first.
        given_runs: What was the other run's in a run, and whether that brought the difference back.
        odds_of_others: Of a cause that is no recorded line: of a call, or of threads in turn; else None.
        together: Whether what was found changes a number only where all of it is there.
        num_units: How many things could be held.
        outcomes: Runs that differ from the first, from the other and from each other.
        whole_runs: Runs with lines held that were not cut.
        suspected: What explains the difference so far, where that is not confirmed.
        not_seen: What could not be read of calls: type → how often.
        never_seeded: Where it is the cause: the global generator for which no seed call was seen; else "".
        hash_is_free: Whether each run with calls watched has a hash seed of its own.
        watched_run: A run with the first one's hash seed and all calls watched, where one was made early.
        free_equal: Runs under equal conditions that equal the first.
        by_replay: Whether a run became another one in so many digits that no luck does it.
        taps: What to preload where calls are kept, or None.
        recorded: Runs besides the first two that were recorded until one differed.
        is_rare: Whether the first run is one of few, and the other one of many: a run that equals the other
            is no proof then, and one that equals the first is.
        close_pair: A run that equals the first and one that differs, looked at where they begin to differ.
    """

    lab: InstrumentedProgram
    first: InstrumentedRun
    other: InstrumentedRun
    variations: tuple[Variation, ...] = ()
    causes: tuple[Cause, ...] = ()
    known: list[str] = field(default_factory=list)
    ruled_out: list[RuledOut] = field(default_factory=list)
    not_varied: list[RuledOut] = field(default_factory=list)
    unmade: list[str] = field(default_factory=list)
    confidence: str = "medium"
    began: Began | None = None
    held_runs: list[tuple[frozenset[str], bool]] = field(default_factory=list)
    given_runs: list[tuple[frozenset[str], bool]] = field(default_factory=list)
    odds_of_others: Odds | None = None
    together: bool = False
    num_units: int = 1
    outcomes: list[InstrumentedRun] = field(default_factory=list)
    whole_runs: list[InstrumentedRun] = field(default_factory=list)
    confirmed: int = 0
    close_pair: list[InstrumentedRun | None] = field(default_factory=lambda: [None, None])
    suspected: tuple[str, ...] = ()
    not_seen: dict[str, int] = field(default_factory=dict)
    never_seeded: str = ""
    hash_is_free: bool = False
    watched_run: InstrumentedRun | None = None
    free_equal: int = 0
    by_replay: bool = False
    taps: Taps | None = None
    recorded: tuple[InstrumentedRun, ...] = ()
    is_rare: bool = False

    @property
    def repeats_by_itself(self) -> bool:
        """Whether a run in which nothing was held equals the first: then another one may as well."""
        return self.free_equal > 0 or any(equal and not held for held, equal in self.held_runs)

    def leave_out(self, one: Variation | VariationNotMade, why: str) -> None:
        """Note that a variation was not made: nothing is known of it."""
        self.not_varied.append(RuledOut(what=one.says, how=why))
        self.unmade.append(one.name)

    def forget_runs(self, *, but_different: bool = False) -> None:
        """Forget which runs were equal: they were compared otherwise.

        ``but_different``: those whose beginnings differed are known to differ as a whole.
        """
        self.held_runs[:] = [one for one in self.held_runs if but_different and not one[1]]
        self.outcomes.clear()
        self.confirmed = 0

    def saw(self, ran: InstrumentedRun, *, held: Sequence[str]) -> bool:
        """Note a run in which these were held; whether it equals the first."""
        equal = self.lab.equal(self.first, ran)
        self.held_runs.append((frozenset(held), equal))
        if not (ran.cut or ran.trouble):
            self.whole_runs.append(ran)
        if not (equal or ran.trouble):
            # one that was cut and one that was not cannot be compared; of the other run both is there
            alike = [self.other, *(outcome for outcome in self.outcomes if outcome.cut == ran.cut)]
            if len(alike) == 1 + len(self.outcomes) and not any(self.lab.equal(one, ran) for one in alike):
                self.outcomes.append(ran)
        self.expect()
        return equal

    def expect(self) -> None:
        """Where there is a suspicion, take over how many runs it takes to confirm it."""
        if self.suspected:
            self.lab.expect(self._left())

    def evidence(self, held: Sequence[str]) -> SuspicionEvidence:
        """What was seen so far of these as the cause."""
        wanted = frozenset(held)
        equal = sum(wanted <= one for one, _ in self.held_runs)
        return SuspicionEvidence(
            equal=equal,
            confirmed=self.confirmed,
            moved=sum(found and wanted <= one for one, found in self.given_runs),
            free=sum(not equal and not wanted <= one for one, equal in self.held_runs),
            results=2 + len(self.outcomes),
            varied=bool(self.variations),
        )

    def odds(self, held: Sequence[str]) -> Odds:
        """How often pairs differ, and how many runs repeated another because these were held.

        Runs of the search do not count: it goes where runs are equal, so what was tried is counted instead.
        """
        if self.variations:
            return self._odds_of_varied(held)
        seen = self.evidence(held)
        failed = [one for one, equal in self.held_runs if not equal]
        free = sum(equal and any(one <= more for more in failed) for one, equal in self.held_runs)
        return Odds(
            differ=1 + (seen.free if held else sum(not one for one in failed)),
            equal=self.free_equal + free,
            repeated=seen.confirmed + (0 if self.is_rare else seen.moved) if held else 0,
            looks=2 * max(1, len({one for one, _ in self.held_runs if one})),  # equal the first, or the other
            by_replay=self.by_replay and bool(held),
        )

    def _odds_of_varied(self, held: Sequence[str]) -> Odds:
        """Of all runs: how many differ with these, how many do not, and how many equal the first without."""
        wanted = frozenset(held)
        made, without = [True], [True] * (1 + self.free_equal)  # the other run differs, the second does not
        for one, equal in self.held_runs:
            held_off = not wanted.isdisjoint(one) if self.together else wanted <= one
            (without if held_off else made).append(equal if held_off else not equal)
        for one, differs in self.given_runs:
            if LEFTOVERS in one:
                continue  # noted as a run in which nothing was held
            if wanted <= one if self.together else not wanted.isdisjoint(one):
                made.append(differs)
            elif not any(map(is_site, wanted)):
                without.append(not differs)
        return Odds(
            differ=sum(made),
            equal=len(made) - sum(made),
            repeated=len(without) if held and all(without) else 0,
            looks=2 * self.num_units ** len(wanted),  # each alone, or all of them together
            varied=True,
        )

    def suspect(self, held: tuple[str, ...]) -> None:
        """Take over what explains the difference so far, and say it with what it takes to confirm it."""
        self.suspected = held
        self.expect()
        left = self._left()
        names = self.lab.in_source(self.described).replace(f"{Path.cwd()}/", "")
        verb = "explains" if len(held) == 1 else "explain"
        self.lab.progress.note(f"so far: {names} {verb} it, {counted(left, 'confirmation')} to go")

    def _left(self) -> int:
        """How many more runs it takes to confirm the suspicion, where each does."""
        odds, evidence = self.odds(self.suspected), self.evidence(self.suspected)
        if odds.enough or (not self.is_rare and in_full_precision(self.lab.compare(self.first, self.other))):
            return evidence.left
        return max(evidence.left, odds.wanted - odds.repeated)

    @property
    def described(self) -> str:
        """What explains the difference so far, by lines where there are any."""
        return " and ".join(described(self, one) for one in self.suspected)


def under(chosen: Sequence[Variation], first: InstrumentedRun) -> Conditions:
    """The conditions of a run under variations."""
    found = joined(chosen)
    return Conditions(
        like=first,
        vary=found.vary,
        environment=found.environment,
        run_folder=found.run_folder or "run",
        start=found.start,
        cpu=found.cpu,
    )


def all_held(inquiry: Investigation) -> Conditions:
    """Everything that can be held is the first run's."""
    return Conditions(pins=("*",), like=inquiry.first, hash_seed=True, fresh=True)


def described(inquiry: Investigation, unit: str) -> str:
    """What could be held: its line, where it has one, and the category that a cause there has."""
    site = inquiry.first.trace.sites.get(unit)
    return f"{site.file}:{site.line} ({category_of(site.kind)})" if site else unit


def is_site(unit: str) -> bool:
    """Whether a unit is a line of the program, not something general."""
    return "|" in unit
