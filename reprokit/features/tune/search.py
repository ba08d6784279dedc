"""A search under way: what it is, what runs there are, and the trials that have ended."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reprokit.features.tune.definition import Definition
from reprokit.features.tune.studies import Trial
from reprokit.features.tune.trials.suggestions import Suggestions
from reprokit.harness.running.run_inputs import WholeRunFolder
from reprokit.harness.sweeping.carry_out import SweepMembers
from reprokit.harness.sweeping.groups import SweepGroup
from reprokit.project import Project


@dataclass(slots=True, kw_only=True)
class Search:
    """A search under way: its trials so far, and everything that one trial needs.

    Attributes:
        definition: What it is.
        group: Its recipe, made ready to run, with the settings that every trial has.
        project: The folders.
        suggestions: Draws settings, and holds the results.
        board: The runs of its trials.
        there: The runs of the recipe that were found, and those made since.
        retry_failed: Whether a trial that failed is run again.
        changed: Called with all results after each trial.
        note: Told of a run that does not count.
        reused: Numbers of the trials for which no run was made.
        is_logged: Whether a finished run is known to have logged the metric that is searched for.
    """

    definition: Definition
    group: SweepGroup
    project: Project
    suggestions: Suggestions
    board: SweepMembers
    there: list[WholeRunFolder]
    retry_failed: bool = False
    changed: Callable[[Sequence[Trial]], object] = lambda _trials: None
    note: Callable[[str], object] = lambda _text: None
    reused: set[int] = field(default_factory=set)
    is_logged: bool = False
    _noted: set[Path] = field(default_factory=set)
    results: dict[int, Trial] = field(default_factory=dict)
    condition: threading.Condition = field(default_factory=threading.Condition)
    one_at_a_time: defaultdict[str, threading.Lock] = field(
        default_factory=lambda: defaultdict(threading.Lock)
    )

    def trials(self) -> list[Trial]:
        """The trials that have ended, in the order of their numbers."""
        return [self.results[number] for number in sorted(self.results)]

    def does_not_count(self, folder: Path) -> None:
        """Say once that a run was changed after it had ended."""
        with self.condition:
            new = folder not in self._noted
            self._noted.add(folder)
        if new:
            self.note(f"{folder.name} was changed after the run; it does not count and is run again")

    def ended(self, trial: Trial, *, reused: bool = False) -> None:
        """A trial has its result; ``reused`` where no run was made for it."""
        with self.condition:
            if reused:
                self.reused.add(trial.number)
            self.results[trial.number] = trial
            self.suggestions.result(trial)
            self.changed(self.trials())
            self.condition.notify_all()
