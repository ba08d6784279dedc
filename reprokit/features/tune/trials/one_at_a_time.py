"""One setting after the other, in the order of the search space, the others as in the best trial so far."""

from __future__ import annotations

import warnings
from typing import Any

import optuna

from reprokit.features.tune.definition import RANDOM, Definition, best_of
from reprokit.features.tune.studies import Trial
from reprokit.features.tune.trials.samplers import RoundedSampler, distribution_of, external_value, seed_of

#: Trials for one setting before the next one's turn.
TURN = 5


class OneAtATime:
    """Trial 0 has the recipe's own settings; then five trials for each setting in turn, round after round.

    A trial draws its one setting at random; the others are those of the best trial that it may see, at first
    the recipe's own.
    """

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._seen: list[Trial] = []

    def draw(self, number: int) -> dict[str, Any]:
        """The settings of the next trial."""
        best = best_of(self._seen, self._definition)
        params = dict(best.params) if best else dict(self._definition.start)
        if number == 0:
            return params
        space = self._definition.space
        one = space[(number - 1) // TURN % len(space)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampler = RoundedSampler(RANDOM, seed=seed_of(self._definition.seed, number))
            optuna.logging.set_verbosity(optuna.logging.ERROR)
            asked = optuna.create_study(sampler=sampler).ask({one.setting: distribution_of(one)})
        return {**params, one.setting: external_value(one, asked.params[one.setting])}

    def tell(self, trial: Trial) -> None:
        """The result of a trial; only complete ones can be the best."""
        self._seen.append(trial)
