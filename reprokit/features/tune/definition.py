"""What a search is: everything that its trials follow from, but for how many there are."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from reprokit.core.comparing.metric_names import HIGHER, better
from reprokit.core.records import digest
from reprokit.core.statistics.windows import Window
from reprokit.errors import UsageError
from reprokit.features.tune.definition_data import DefinitionData
from reprokit.features.tune.extra import version_of
from reprokit.features.tune.studies import Trial, TrialState
from reprokit.recipes import Distribution, Recipe

GRID, RANDOM, TPE, CMAES, ONE_AT_A_TIME = "grid", "random", "tpe", "cmaes", "one-at-a-time"
SAMPLERS = (TPE, CMAES, RANDOM, GRID, ONE_AT_A_TIME)
#: Samplers that look at no result.
BLIND = {GRID, RANDOM}
NO_PRUNER, MEDIAN, HYPERBAND = "none", "median", "hyperband"
PRUNERS = (NO_PRUNER, MEDIAN, HYPERBAND)
Direction = Literal["maximize", "minimize"]
MAXIMIZE: Direction = "maximize"
MINIMIZE: Direction = "minimize"
#: How many trials before its own a trial does not see: so many and one more can run side by side.
LAG = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """The number that is searched for.

    Attributes:
        metric: Its name; None for the first that is called a return, reward, score or accuracy.
        window: Which number of its curve.
        direction: ``maximize`` or ``minimize``.
    """

    metric: str | None
    window: Window
    direction: Direction

    @property
    def sign(self) -> int:
        """1 where a larger number is better, else -1."""
        return 1 if self.direction == MAXIMIZE else -1

    @property
    def direction_of_reports(self) -> Direction:
        """Which way the metric's own values are better, which a pruner looks at on the way."""
        if not self.window.better:
            return self.direction
        reached_from_below = MAXIMIZE if self.window.kind == "first_step_at_least" else MINIMIZE
        reached_from_above = MINIMIZE if reached_from_below == MAXIMIZE else MAXIMIZE
        return reached_from_below if self.direction == MINIMIZE else reached_from_above


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A search.

    Attributes:
        recipe: Name of the recipe.
        inputs: Digest of what its runs stand on but for seed and searched settings: code, environment.
        space: The settings that are searched, in the order of the file.
        fixed: Settings that every trial has, ``path=value``.
        sampler: One of ``SAMPLERS``.
        pruner: One of ``PRUNERS``.
        watched: The metric whose reports the pruner looks at; None for that of the objective.
        seed: Of all draws.
        lag: How many trials before its own a trial sees no result of.
        objective: The number that is searched for.
        seeds: With which each trial is run; its value is the mean.
        start: The recipe's own value of each searched setting; it follows from ``inputs``.
    """

    recipe: str
    inputs: str
    space: tuple[Distribution, ...]
    fixed: tuple[str, ...]
    sampler: str
    pruner: str
    watched: str | None
    seed: int
    lag: int
    objective: Objective
    seeds: tuple[int, ...]
    start: Mapping[str, Any] = field(default_factory=dict)

    def as_data(self) -> DefinitionData:
        """The search as ``study.json`` has it."""
        objective = self.objective
        return {
            "recipe": self.recipe,
            "inputs": self.inputs,
            "sampler": self.sampler,
            "pruner": self.pruner,
            "pruner_metric": self.watched,
            "optuna": version_of(self),
            "seed": self.seed,
            "lag": self.lag,
            "metric": objective.metric,
            "window": objective.window.name,
            "direction": objective.direction,
            "seeds": list(self.seeds),
            "fixed": list(self.fixed),
            "space": {one.setting: one.as_data() for one in self.space},
        }

    @property
    def name(self) -> str:
        """The recipe's name and a digest: the same for the same search, however many trials it has."""
        # As a list, since the order of the settings decides in which order they are drawn.
        data = {**self.as_data(), "space": [[one.setting, one.as_data()] for one in self.space]}
        return f"{self.recipe}-tune-{digest(data)[7:15]}"

    @property
    def needs_optuna(self) -> bool:
        """Whether it can only be carried out with the extra."""
        return self.sampler != GRID or self.pruner != NO_PRUNER


def most_at_one_time(definition: Definition) -> float:
    """How many trials can run side by side; infinity where none waits for another."""
    waits = definition.sampler not in BLIND or definition.pruner != NO_PRUNER
    return definition.lag + 1 if waits else math.inf


def best_of(trials: Sequence[Trial], definition: Definition) -> Trial | None:
    """The complete trial with the best value, of equal ones the first; None where there is none."""
    sign = definition.objective.sign
    found = [trial for trial in trials if trial.state is TrialState.COMPLETE and trial.value is not None]
    return max(found, key=lambda trial: (sign * (trial.value or 0.0), -trial.number), default=None)


def objective_of(
    recipe: Recipe, *, metric: str | None, window: str, direction: Direction | None
) -> Objective:
    """The number that is searched for: as asked, else the first result that the recipe expects.

    Raises:
        UsageError: There is no such window, or the name does not say whether larger or smaller is better.
    """
    try:
        parsed = Window.parse(window)
    except ValueError as error:
        raise UsageError(str(error), where="--window") from error
    name = metric or next(iter(recipe.expected), None)
    return Objective(metric=name, window=parsed, direction=direction or _direction_of(name, parsed))


def _direction_of(metric: str | None, window: Window) -> Direction:
    """Which way is better: fewer steps, and of a metric's values by the words in its name.

    Raises:
        UsageError: There is none of them in it, or of both kinds.
    """
    if window.better:
        return MINIMIZE
    if metric is None:
        return MAXIMIZE  # what is chosen then is called a return
    found = better(metric)
    if not found:
        raise UsageError(
            f"the name {metric!r} does not say whether larger or smaller is better",
            where="--metric",
            fix="add --direction maximize or --direction minimize",
        )
    return MAXIMIZE if found == HIGHER else MINIMIZE


def changed_settings(params: Mapping[str, Any]) -> tuple[str, ...]:
    """The settings of a trial as overrides, ``path=value``.

    >>> changed_settings({"training.learning_rate": 1e-05, "env.RATE": 0.5})
    ('training.learning_rate=1e-05', 'env.RATE="0.5"')
    """
    return tuple(f"{name}={_as_text(name, value)}" for name, value in params.items())


def _as_text(name: str, value: Any) -> str:
    """A value as YAML; a variable of the environment is text whatever it looks like."""
    if name.startswith("env."):
        value = value if isinstance(value, str) else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)
