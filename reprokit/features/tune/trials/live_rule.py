"""The pruning rule of one trial, applied to its run while that is under way and after it has ended.

A trial is pruned at the first report where the rule says so, whenever someone looks and however its run
ended after that; so a run that is stopped late, or not at all, gives the same trial.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reprokit.core.records import Outcome
from reprokit.execution.outcome import Explanation
from reprokit.features.tune.definition import Definition
from reprokit.features.tune.studies import Trial, TrialState
from reprokit.features.tune.trials.results import ReusableRun, curve_of
from reprokit.recipes import Recipe

if TYPE_CHECKING:
    from reprokit.features.tune.trials.pruning import PruningRule


class LiveRule:
    """The pruning rule of one trial, applied to its run while that is under way and after it has ended.

    Args:
        definition: The search.
        number: The trial's.
        visible: The trials that it may see.
        recipe: With its settings.
    """

    def __init__(
        self, definition: Definition, number: int, visible: Sequence[Trial], *, recipe: Recipe
    ) -> None:
        self._definition = definition
        self._number = number
        self._visible = visible
        self._recipe = recipe
        self._live: PruningRule | None = None

    def why_stop(self, folder: Path) -> Explanation | None:
        """Why the run in a folder is to be stopped; None where it continues."""
        self._live = self._live or self._rule()
        curve = curve_of(folder, definition=self._definition, recipe=self._recipe)
        if not _report(self._live, curve):
            return None
        return Explanation(
            outcome=Outcome.PRUNED,
            message=f"it was pruned at report {self._live.pruned_at}: earlier trials did better",
            remedy="none is needed: `reprokit tune` counts it as it is",
        )

    def is_pruned(self, ended: ReusableRun) -> bool:
        """Whether a run is pruned by what it reported."""
        return _report(self._rule(), ended.curve)

    def judged(self, ended: ReusableRun, trial: Trial) -> Trial:
        """The trial with its curve; pruned at the first report where the rule says so, however it ended."""
        rule = self._rule()
        pruned = _report(rule, ended.curve)
        trial = replace(trial, curve=tuple(rule.curve), rungs=rule.rungs)
        if not pruned:
            return trial
        last = rule.curve[-1]
        value = last if math.isfinite(last) else None
        message = "" if value is not None else f"it was pruned at a report of {last}"
        return replace(trial, state=TrialState.PRUNED, pruned_at=rule.pruned_at, value=value, message=message)

    def _rule(self) -> PruningRule:
        from reprokit.features.tune.trials.pruning import PruningRule

        return PruningRule(self._definition, self._number, self._visible)


def _report(rule: PruningRule, curve: Sequence[float]) -> bool:
    """Report what is new of a curve; whether the trial is pruned by it."""
    for value in curve[len(rule.curve) :]:
        if rule.report(value):
            break
    return rule.pruned_at is not None
