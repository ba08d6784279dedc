"""What came of a search: its trials, the best of them, and how that did with other seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.errors import CannotRunError
from reprokit.features.tune import studies
from reprokit.features.tune.best import FreshSeeds
from reprokit.features.tune.definition import Definition, best_of
from reprokit.features.tune.studies import Trial, TrialState


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What came of a search.

    Attributes:
        definition: The search.
        path: Its ``study.json``.
        trials: All that were asked for, in order; those that have not ended are WAITING.
        messages: Number of a trial that failed → all that is known of why.
        reused: Numbers of the trials that had ended before.
        fresh: The best trial's settings with other seeds, where these were asked for.
        saved: The recipe that has them, where one was asked for.
        warnings: What is odd about the results: settings that change nothing.
    """

    definition: Definition
    path: Path
    trials: tuple[Trial, ...]
    messages: Mapping[int, str] = field(default_factory=dict)
    reused: frozenset[int] = frozenset()
    fresh: FreshSeeds | None = None
    saved: Path | None = None
    warnings: tuple[str, ...] = ()

    @property
    def best(self) -> Trial | None:
        """The best trial that ran to its end: of equal ones the first."""
        return best_of(self.trials, self.definition)

    @property
    def exit_code(self) -> int:
        """0 where every trial has ended and one has a value, else that of a run that could not be made."""
        done = all(trial.state is not TrialState.WAITING for trial in self.trials)
        return 0 if done and self.best is not None else CannotRunError.exit_code

    def answer(self) -> dict[str, Any]:
        """It as ``--json`` prints it: with where it lies, and what the best trial did with other seeds."""
        fresh = None if self.fresh is None else self.fresh.as_data(self.definition)
        warnings = list(self.warnings)
        return {
            **self.as_data(),
            "path": self.path,
            "fresh_seeds": fresh,
            "saved": self.saved,
            "warnings": warnings,
        }

    def as_data(self) -> studies.StudyData:
        """It as ``study.json`` holds it."""
        return studies.as_data(self.definition.name, self.definition.as_data(), self.trials, best=self.best)
