"""A finished search as a study of Optuna's own: for its storage and dashboard, and for its importances."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState, create_trial

from reprokit.errors import UsageError
from reprokit.features.tune import studies
from reprokit.features.tune.definition import Definition
from reprokit.features.tune.studies import Trial
from reprokit.features.tune.trials.samplers import distribution_of
from reprokit.recipes import Distribution

_STATES = {
    studies.TrialState.COMPLETE: TrialState.COMPLETE,
    studies.TrialState.PRUNED: TrialState.PRUNED,
    studies.TrialState.FAIL: TrialState.FAIL,
}


def export(definition: Definition, trials: Sequence[Trial], *, url: str) -> int:
    """Add a search to a storage of Optuna's, trials that are there already left out; how many were added.

    Args:
        definition: The search; its name is that of the study.
        trials: Those that have ended are exported.
        url: ``sqlite:///FILE``.

    Raises:
        UsageError: The study there has other trials.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = RDBStorage(url)
    try:
        return _added(definition, trials, storage=storage, url=url)
    finally:
        storage.remove_session()
        storage.engine.dispose()  # Python 3.13 and later warn of connections that no one has closed


def importances(definition: Definition, trials: Sequence[Trial]) -> dict[str, float]:
    """How much of what sets good trials apart is each setting's doing, the largest first; they sum to 1.

    Source: PED-ANOVA (Watanabe et al., IJCAI 2023, https://arxiv.org/abs/2304.10255), as Optuna computes it.

    Returns:
        Setting → share; empty where too few trials differ.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction=definition.objective.direction)
    done = [trial for trial in trials if trial.state is studies.TrialState.COMPLETE]
    if len({trial.value for trial in done}) < 2:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.add_trials([_as_optuna(trial, definition) for trial in done])
        try:
            return dict(optuna.importance.get_param_importances(study))
        except (RuntimeError, ValueError):  # fewer trials than the method needs
            return {}


def _added(definition: Definition, trials: Sequence[Trial], *, storage: RDBStorage, url: str) -> int:
    """How many were added to the study of that name."""
    study = optuna.create_study(
        storage=storage,
        study_name=definition.name,
        direction=definition.objective.direction,
        load_if_exists=True,
    )
    there = study.get_trials(deepcopy=False)
    ours = [_as_optuna(trial, definition) for trial in trials if trial.state in _STATES]
    for old, new in zip(there, ours, strict=False):
        if (old.params, old.state) != (new.params, new.state):
            raise UsageError(
                f"the study {definition.name} there has other trials, from trial {old.number} on",
                where=f"--export {url}",
                fix="name another file",
            )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.add_trials(ours[len(there) :])
    return max(0, len(ours) - len(there))


def _as_optuna(trial: Trial, definition: Definition) -> FrozenTrial:
    is_fail = trial.state is studies.TrialState.FAIL
    return create_trial(
        state=_STATES[trial.state],
        value=None if is_fail else trial.value,
        params={one.setting: _plain(one, trial.params[one.setting]) for one in definition.space},
        distributions={one.setting: _distribution(one) for one in definition.space},
        intermediate_values=dict(enumerate(trial.curve)),
        user_attrs={"message": trial.message, "values": list(trial.values), "runs": list(trial.identities)},
    )


def _distribution(one: Distribution) -> BaseDistribution:
    if one.kind == "categorical":
        return CategoricalDistribution([_plain(one, choice) for choice in one.choices])
    return distribution_of(one)


def _plain(one: Distribution, value: Any) -> Any:
    """A value as Optuna stores it: a list as its text."""
    return json.dumps(value) if one.kind == "categorical" and isinstance(value, list | dict) else value
