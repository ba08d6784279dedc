"""What a person asks of a search, and of its best trial."""

from __future__ import annotations

from dataclasses import dataclass

from reprokit.features.tune.definition import LAG, NO_PRUNER, TPE, Direction
from reprokit.recipes import Distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterSearch:
    """What is done with the best trial once every trial has ended.

    Attributes:
        seeds: Run it with these too, as ``parse_seeds`` reads them; None for none.
        save_as: Write it as a recipe of this name; None for none.
    """

    seeds: str | None = None
    save_as: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person asks of a search; None where the recipe or a default decides.

    Attributes:
        space: The settings that are searched.
        trials: How many; None for all points of a grid.
        seed: Of all draws.
        settings: Settings that every trial has, ``path=value``.
        seeds: With which each trial is run, as ``parse_seeds`` reads them.
        metric: The number that is searched for.
        window: Which number of its curve.
        direction: ``maximize`` or ``minimize``.
        sampler: One of ``definition.SAMPLERS``.
        pruner: One of ``definition.PRUNERS``.
        pruner_metric: What the pruner watches.
        lag: How many trials before its own a trial does not see.
        retry_failed: Run trials again that failed; what was drawn from then on is drawn again.
        after: What is done with the best trial.
    """

    space: tuple[Distribution, ...]
    trials: int | None = None
    seed: int = 0
    settings: tuple[str, ...] = ()
    seeds: str | None = None
    metric: str | None = None
    window: str = "last"
    direction: Direction | None = None
    sampler: str = TPE
    pruner: str = NO_PRUNER
    pruner_metric: str | None = None
    lag: int = LAG
    retry_failed: bool = False
    after: AfterSearch = AfterSearch()
