"""Whether a trial is to be stopped: at each of its reports, compared with the trials that it may see."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import optuna
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner
from optuna.trial import TrialState, create_trial

from reprokit.features.tune import studies
from reprokit.features.tune.definition import HYPERBAND, Definition
from reprokit.features.tune.studies import Trial

_RUNG = "completed_rung_"


class PruningRule:
    """The reports of one trial, in order, and at which of them it is pruned.

    Args:
        definition: The search.
        number: The trial's.
        visible: The trials that it may see, in order: all below its number less the lag, and no other.
    """

    def __init__(self, definition: Definition, number: int, visible: Sequence[Trial]) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(
            study_name=f"seed-{definition.seed}",  # Hyperband chooses a trial's bracket by it
            direction=definition.objective.direction_of_reports,
            pruner=_pruner(definition),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for one in visible:
                study.add_trial(_seen(one))
            for _ in range(len(visible), number):
                study.ask()  # trials that it may not see have a number, and nothing else
            self._trial = study.ask()
        self.curve: list[float] = []
        self.pruned_at: int | None = None

    def report(self, value: float) -> bool:
        """The next number of the trial's curve; whether it is pruned there."""
        if self.pruned_at is None:
            self._trial.report(value, len(self.curve))
            self.curve.append(value)
            if self._trial.should_prune():
                self.pruned_at = len(self.curve) - 1
        return self.pruned_at is not None

    @property
    def rungs(self) -> tuple[tuple[str, float], ...]:
        """What Hyperband noted, which later trials are compared with."""
        noted = self._trial.storage.get_trial_system_attrs(self._trial._trial_id)
        return tuple(sorted((name, value) for name, value in noted.items() if name.startswith(_RUNG)))


def _pruner(definition: Definition) -> BasePruner:
    return HyperbandPruner() if definition.pruner == HYPERBAND else MedianPruner()


def _seen(trial: Trial) -> optuna.trial.FrozenTrial:
    """A trial that has ended, with its curve."""
    state = {
        studies.TrialState.COMPLETE: TrialState.COMPLETE,
        studies.TrialState.PRUNED: TrialState.PRUNED,
    }.get(trial.state, TrialState.FAIL)
    return create_trial(
        state=state,
        value=trial.value if state is not TrialState.FAIL else None,
        intermediate_values=dict(enumerate(trial.curve)),
        system_attrs=dict(trial.rungs),
    )
