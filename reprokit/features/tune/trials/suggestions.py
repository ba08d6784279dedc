"""The settings of each trial: a pure function of the search, the trial's number and results before its lag.

Trial k is drawn once the results of all trials below k − lag are known, and is given those results alone, in
the order of their numbers. Which of the later ones have ended by then changes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Protocol

from reprokit.errors import UsageError
from reprokit.features.tune.definition import BLIND, CMAES, GRID, ONE_AT_A_TIME, Definition
from reprokit.features.tune.extra import must_have_optuna
from reprokit.features.tune.studies import Trial
from reprokit.recipes import Distribution

_MOST_POINTS = 100_000


class Sampler(Protocol):
    """Draws trials one after the other."""

    def draw(self, number: int) -> dict[str, Any] | None:
        """The settings of the next trial; None where there are no more."""

    def tell(self, trial: Trial) -> None:
        """The result of a trial that was drawn; called in the order of the numbers."""


class Suggestions:
    """The trials of a search as they are drawn and end; not safe to be used by several threads at once."""

    def __init__(self, definition: Definition) -> None:
        self._lag = definition.lag
        self._is_blind = definition.sampler in BLIND
        self._sampler = _sampler(definition)
        self._drawn: list[dict[str, Any]] = []
        self._results: dict[int, Trial] = {}
        self._told = 0
        self._ended = False

    def settings_of(self, number: int) -> dict[str, Any] | None:
        """The settings of a trial; None where it cannot be drawn yet, or there are no more."""
        while len(self._drawn) <= number and not self._ended and self._may_draw():
            drawn = self._sampler.draw(len(self._drawn))
            if drawn is None:
                self._ended = True
            else:
                self._drawn.append(drawn)
        return self._drawn[number] if number < len(self._drawn) else None

    def has_ended(self, number: int) -> bool:
        """Whether the search space has no point left for this trial."""
        return self._ended and number >= len(self._drawn)

    def result(self, trial: Trial) -> None:
        """A trial has ended."""
        self._results[trial.number] = trial

    def visible_to(self, number: int) -> tuple[Trial, ...]:
        """The trials whose results a trial may see, in the order of their numbers."""
        return tuple(self._results[at] for at in range(max(0, number - self._lag)))

    def may_begin(self, number: int) -> bool:
        """Whether all that a trial may see is known."""
        return all(at in self._results for at in range(max(0, number - self._lag)))

    def _may_draw(self) -> bool:
        if self._is_blind:
            return True
        seen = max(0, len(self._drawn) - self._lag)
        while self._told < seen:
            if self._told not in self._results:
                return False
            self._sampler.tell(self._results[self._told])
            self._told += 1
        return True


def _sampler(definition: Definition) -> Sampler:
    if definition.sampler == GRID:
        return _Grid(definition.space)
    if definition.sampler == ONE_AT_A_TIME:
        must_have_optuna()
        from reprokit.features.tune.trials.one_at_a_time import OneAtATime

        return OneAtATime(definition)
    must_have_optuna(also="cmaes" if definition.sampler == CMAES else "")
    from reprokit.features.tune.trials.samplers import OptunaSampler

    return OptunaSampler(definition)


class _Grid:
    """Every combination, in the order of the file: the last setting changes first."""

    def __init__(self, space: tuple[Distribution, ...]) -> None:
        self._names = [one.setting for one in space]
        self._points: Iterator[tuple[Any, ...]] = itertools.product(*map(grid_values, space))

    def draw(self, number: int) -> dict[str, Any] | None:
        point = next(self._points, None)
        return None if point is None else dict(zip(self._names, point, strict=True))

    def tell(self, trial: Trial) -> None:
        """No point of a grid depends on a result."""


def grid_values(one: Distribution) -> tuple[Any, ...]:
    """The points of one setting in a grid.

    Raises:
        UsageError: It has no points: any number in its range, or too many.
    """
    if one.kind == "categorical":
        return one.choices
    assert one.low is not None and one.high is not None  # noqa: S101, PT018 - read_search_space made sure
    step = one.step or (1 if one.kind == "int" and not one.log else None)
    if step is None or (one.high - one.low) / step > _MOST_POINTS:
        raise UsageError(
            f"{one.setting} has no points for a grid",
            where=one.where,
            fix="give it a `step`, or `type: categorical` with `choices`",
        )
    count = int((one.high - one.low) / step * (1 + 1e-12)) + 1
    return tuple(one.low + at * step for at in range(count))


def grid_size(space: tuple[Distribution, ...]) -> int:
    """How many points a grid has.

    Raises:
        UsageError: A setting has none.
    """
    size = 1
    for one in space:
        size *= len(grid_values(one))
    return size
