"""A search space made from a recipe: the settings of a reinforcement learner, what matters most first.

The order is that of the tuning guide behind `cartpole_dqn`: learning rate, network, batch, discount,
exploration, then what belongs to one algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from reprokit import recipes
from reprokit.errors import RecipeError, UsageError
from reprokit.features.tune.settings import check_space
from reprokit.project import Project
from reprokit.recipes import Distribution, Recipe

RL = "rl"


def _float(name: str, low: float, high: float, *, log: bool = False) -> Distribution:
    return Distribution(setting=name, kind="float", low=low, high=high, log=log)


def _int(name: str, low: int, high: int) -> Distribution:
    return Distribution(setting=name, kind="int", low=low, high=high, log=True)


def _choice(name: str, *choices: Any) -> Distribution:
    return Distribution(setting=name, kind="categorical", choices=choices)


_ORDER = (
    _float("learning_rate", 1e-5, 1e-2, log=True),
    _choice("hidden_sizes", [64], [128], [256], [64, 64], [128, 128], [256, 256]),
    _choice("batch_size", 32, 64, 128, 256),
    _float("gamma", 0.9, 0.999),
    _float("epsilon_end", 0.01, 0.1),
    _int("epsilon_decay", 1_000, 50_000),
    _float("ent_coef", 0.0, 0.05),
    _choice("buffer_size", 10_000, 50_000, 100_000),
    _int("target_update", 50, 2_000),
    _choice("train_frequency", 1, 4, 8),
    _float("gae_lambda", 0.9, 1.0),
    _float("clip_range", 0.1, 0.3),
    _choice("n_epochs", 3, 5, 10, 20),
)


def preset_space(
    recipe: Recipe, *, fixed: tuple[str, ...], project: Project, where: str = "--preset rl"
) -> tuple[Distribution, ...]:
    """The settings of a recipe that the preset knows, in its order; what the recipe refuses is left out.

    Args:
        recipe: With the settings that every trial has.
        fixed: These, ``path=value``; they are not searched.
        project: The folders.
        where: For messages.

    Raises:
        UsageError: The recipe has none of them.
    """
    places = dict(_leaves(recipe.training_config))
    names = {text.partition("=")[0].strip() for text in fixed}
    found = []
    for one in _ORDER:
        path = places.get(one.setting)
        if path is None or path in names:
            continue
        placed = _accepted(replace(one, setting=path, where=where), recipe, project=project)
        if placed is not None:
            found.append(placed)
    if not found:
        raise UsageError(
            f"{recipe.name} has no setting that the preset knows",
            where=where,
            expected=", ".join(one.setting for one in _ORDER),
            fix="write a search space: --space FILE",
        )
    return tuple(found)


def _leaves(section: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Name of each setting → its dotted path."""
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, key))
        else:
            yield key, ".".join((*path, key))


def _accepted(one: Distribution, recipe: Recipe, *, project: Project) -> Distribution | None:
    """The distribution with those of its choices that the recipe takes; None where it takes none."""
    if one.kind == "categorical":
        kept = [value for value in one.choices if _takes(replace(one, choices=(value,)), recipe, project)]
        return replace(one, choices=tuple(kept)) if kept else None
    return one if _takes(one, recipe, project) else None


def _takes(one: Distribution, recipe: Recipe, project: Project) -> bool:
    try:
        check_space([one], recipe, fixed=(), project=project)
    except RecipeError:
        return False
    return True


def load_preset(name: str, *, settings: tuple[str, ...], project: Project) -> tuple[Distribution, ...]:
    """The preset's search space for a recipe.

    Raises:
        UsageError: There is no such recipe, or it has no setting that the preset knows.
    """
    recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=settings)
    return preset_space(recipe, fixed=settings, project=project)
