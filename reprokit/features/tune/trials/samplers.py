"""Optuna's samplers, asked and told in the order of trial numbers, each trial with a seed of its own."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, CmaEsSampler, RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from reprokit.features.tune import studies
from reprokit.features.tune.definition import CMAES, RANDOM, Definition
from reprokit.features.tune.studies import Trial
from reprokit.recipes import Distribution

_STARTUP_TRIALS = 10
#: Significant digits of a drawn number: the last bits of exp and log are not the same on every CPU.
_DIGITS = 6


class OptunaSampler:
    """A study in memory whose trials are asked for, and told of, in one order."""

    def __init__(self, definition: Definition) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._definition = definition
        self._space = {one.setting: one for one in definition.space}
        self._distributions = {name: distribution_of(one) for name, one in self._space.items()}
        self._study = optuna.create_study(direction=definition.objective.direction)
        self._asked: list[optuna.Trial] = []

    def draw(self, number: int) -> dict[str, Any]:
        """The settings of the next trial, from its own seed and from what was told so far."""
        self._study.sampler = RoundedSampler(
            self._definition.sampler, seed=seed_of(self._definition.seed, number)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that something is experimental: said in the documentation
            asked = self._study.ask(self._distributions)
        self._asked.append(asked)
        return {name: external_value(one, asked.params[name]) for name, one in self._space.items()}

    def tell(self, trial: Trial) -> None:
        """The result of a trial; a failed one is told as failed, which samplers leave out."""
        asked = self._asked[trial.number]
        if trial.state is studies.TrialState.COMPLETE:
            self._study.tell(asked, trial.value)
            return
        if trial.state is studies.TrialState.PRUNED and trial.value is not None:
            asked.report(trial.value, trial.pruned_at or 0)
            self._study.tell(asked, state=TrialState.PRUNED)
            return
        self._study.tell(asked, state=TrialState.FAIL)


def seed_of(study_seed: int, number: int) -> int:
    """The seed of one trial's draws."""
    return int(np.random.SeedSequence([study_seed, number]).generate_state(1)[0])


def distribution_of(one: Distribution) -> BaseDistribution:
    """A distribution as Optuna's; of a categorical one the positions of its choices."""
    if one.kind == "categorical":
        return CategoricalDistribution(tuple(range(len(one.choices))))
    assert one.low is not None and one.high is not None  # noqa: S101, PT018 - read_search_space made sure
    if one.kind == "int":
        return IntDistribution(int(one.low), int(one.high), log=one.log, step=int(one.step or 1))
    return FloatDistribution(one.low, one.high, log=one.log, step=one.step)


def external_value(one: Distribution, drawn: Any) -> Any:
    """A drawn value as the recipe takes it."""
    return one.choices[drawn] if one.kind == "categorical" else drawn


def _sampler(name: str, *, seed: int) -> BaseSampler:
    if name == RANDOM:
        return RandomSampler(seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # options that Optuna calls experimental
        if name == CMAES:
            return CmaEsSampler(
                seed=seed,
                independent_sampler=RandomSampler(seed=seed),
                warn_independent_sampling=False,
            )
        # Trials whose results may not be seen count as bad ones: their settings follow from the same results.
        return TPESampler(seed=seed, n_startup_trials=_STARTUP_TRIALS, multivariate=True, constant_liar=True)


class RoundedSampler(BaseSampler):
    """A sampler whose numbers have six significant digits of their range."""

    def __init__(self, name: str, *, seed: int) -> None:
        self._inner = _sampler(name, seed=seed)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self._inner.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        drawn: Mapping[str, Any] = self._inner.sample_relative(study, trial, search_space)
        return {name: rounded(value, search_space[name]) for name, value in drawn.items()}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        drawn = self._inner.sample_independent(study, trial, param_name, param_distribution)
        return rounded(drawn, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._inner.before_trial(study, trial)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        self._inner.after_trial(study, trial, state, values)


def rounded(value: Any, distribution: BaseDistribution) -> Any:
    """A drawn number to six significant digits, of itself on a logarithmic scale, else of its range."""
    if not isinstance(distribution, FloatDistribution) or distribution.step is not None:
        return value
    low, high = distribution.low, distribution.high
    scale = abs(value) if distribution.log else high - low
    if scale == 0 or low == high:
        return value
    digits = _DIGITS - 1 - math.floor(math.log10(scale))
    return min(max(round(float(value), digits), low), high)
