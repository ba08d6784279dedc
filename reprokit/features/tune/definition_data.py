"""What ``study.json`` says of a search before its trials: only people and their programs read it."""

from __future__ import annotations

from typing import TypedDict

from reprokit.recipes.search_space import SettingData


class DefinitionData(TypedDict):
    """A search, as ``Definition`` describes it; ``space`` is in the order in which settings are drawn."""

    recipe: str
    inputs: str
    sampler: str
    pruner: str
    pruner_metric: str | None
    optuna: str | None
    seed: int
    lag: int
    metric: str | None
    window: str
    direction: str
    seeds: list[int]
    fixed: list[str]
    space: dict[str, SettingData]
