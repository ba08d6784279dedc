"""What is known so far about two runs, and how their suspicions are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reprokit.core.rows import counted
from reprokit.diagnosis import Began, Cause
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import RuledOut
from reprokit.harness.diagnosing.instrumented_runs import Laboratory
from reprokit.harness.running.apply_variations import joined
from reprokit.variations import Variation

HASH_SEED, LEFTOVERS, VARIATION = "hash seed", "leftovers", "variation "
#: How many runs must be equal in which a suspicion was held, with whatever else; and how many in which
#: nothing else was, where runs were equal by luck before.
EQUAL_RUNS, CAREFUL = 3, 5
#: How often what was held must bring the difference back, each time; and how many runs must differ by it,
#: those counted in which it was left free, for it not to be luck.
MOVES, DIFFERENT_RUNS = 2, 4
BY_HASH = {"set_order", "hash"}


@dataclass(slots=True)
class Inquiry:
    """What is known so far about two runs.

    Attributes:
        other: A run that differs from it.
        variations: What was varied for ``other``.
        causes: What was found without holding a line.
        confidence: Of what is held.
        began: Where it began, as far as that is known.
        held_runs: What was held in a run, and whether it equals the first.
        moves: How often a set brought the difference back.
        suspected: What explains the difference so far, where that is not confirmed.
        close_pair: A run that equals the first and one that differs, looked at where they begin to differ.
    """

    lab: Laboratory
    first: InstrumentedRun
    other: InstrumentedRun
    variations: tuple[Variation, ...] = ()
    causes: tuple[Cause, ...] = ()
    known: list[str] = field(default_factory=list)
    ruled_out: list[RuledOut] = field(default_factory=list)
    not_varied: list[RuledOut] = field(default_factory=list)
    confidence: str = "medium"
    began: Began | None = None
    held_runs: list[tuple[frozenset[str], bool]] = field(default_factory=list)
    moves: dict[frozenset[str], int] = field(default_factory=dict)
    close_pair: list[InstrumentedRun | None] = field(default_factory=lambda: [None, None])
    suspected: tuple[str, ...] = ()

    def suspect(self, held: tuple[str, ...]) -> None:
        """Take over what explains the difference so far, and say it with what it takes to confirm it."""
        self.suspected = held
        equal = sum(frozenset(held) <= one for one, _ in self.held_runs)
        free = len(self.held_runs) - equal
        left = max(0, EQUAL_RUNS - equal) + max(MOVES, DIFFERENT_RUNS - free)
        told = self.lab.in_source(self.described)
        self.lab.progress.note(f"so far: {told} explains it, {counted(left, 'confirmation')} to go")

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


def described(inquiry: Inquiry, unit: str) -> str:
    """What could be held, by its line where it has one."""
    site = inquiry.first.trace.sites.get(unit)
    return f"{site.file}:{site.line} ({site.kind})" if site else unit


def is_site(unit: str) -> bool:
    """Whether a unit is a line of the program, not something general."""
    return "|" in unit
