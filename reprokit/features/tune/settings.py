"""Whether a recipe takes the settings of a search space, at both ends of each range and for every choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reprokit import recipes
from reprokit.errors import RecipeError, UsageError
from reprokit.features.tune.definition import changed_settings
from reprokit.project import Project
from reprokit.recipes import Distribution, Recipe
from reprokit.recipes.mistakes import did_you_mean

#: Keys of a recipe that are no settings of a training → what chooses them.
_NOT_SEARCHED = {
    "seeds": "--seeds",
    "variant": "the recipe",
    "trainer": "the recipe",
    "expected": "the recipe",
}


def check_space(
    space: Sequence[Distribution], recipe: Recipe, *, fixed: Sequence[str], project: Project
) -> None:
    """Refuse a search space that the recipe does not take, each mistake with file and line of its setting.

    Args:
        space: The settings that are searched.
        recipe: With the settings that every trial has.
        fixed: These, ``path=value``.
        project: The folders.

    Raises:
        RecipeError: A setting is unknown, or a value of it is not allowed.
        UsageError: A setting is searched and fixed.
    """
    names = {text.partition("=")[0].strip() for text in fixed}
    for one in space:
        if one.setting in names:
            raise UsageError(
                f"{one.setting} is searched and set", where=one.where, fix=f"leave out --set {one.setting}=…"
            )
    mistakes = [mistake for one in space for mistake in _mistakes(one, recipe, project=project)]
    if len(mistakes) == 1:
        raise mistakes[0]
    if mistakes:
        error = RecipeError(f"{len(mistakes)} mistakes", where=mistakes[0].where)
        error.mistakes = tuple(f"  {mistake}" for mistake in mistakes)
        raise error


def own_values(
    name: str, space: Sequence[Distribution], *, settings: Sequence[str], project: Project
) -> dict[str, Any]:
    """The value that a recipe has of each setting of a space, which it takes; None where it has none.

    Raises:
        UsageError: The recipe does not take the space.
    """
    recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=settings)
    check_space(space, recipe, fixed=settings, project=project)
    return values_of(recipe, space)


def values_of(recipe: Recipe, space: Sequence[Distribution]) -> dict[str, Any]:
    """The value that a recipe has of each setting of a space; None where it has none."""
    data = recipe.as_data()
    return {one.setting: _found(data, one.setting.split(".")) for one in space}


def _found(data: Any, path: Sequence[str]) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _mistakes(one: Distribution, recipe: Recipe, *, project: Project) -> Iterator[RecipeError]:
    """What the recipe says against a setting's values, each sentence once."""
    top, _, variable = one.setting.partition(".")
    if top in _NOT_SEARCHED:
        fix = f"choose it by {_NOT_SEARCHED[top]}"
        yield RecipeError(f"{one.setting} is not a setting of a training", where=one.where, fix=fix)
        return
    given = recipe.as_data().get("env") or {}
    if top == "env" and variable not in given:  # a program that reads no such variable would not say so
        yield RecipeError(
            f"{one.setting}: the recipe gives its program no such variable",
            where=one.where,
            fix=did_you_mean(variable, given) if given else f"add {variable} under `env` in recipe.yaml",
        )
        return
    seen = set()
    before: dict[tuple[str, ...], Any] = {}
    for value in _ends(one):
        as_set = changed_settings({one.setting: value})
        if one.kind == "categorical" and as_set in before:
            what = f"{one.setting}: the choices {before[as_set]!r} and {value!r} are one and the same value"
            yield RecipeError(what, where=one.where, fix="remove one of them")
        if top == "env" and value is None:
            yield RecipeError(f"{one.setting}: a variable has no null", where=one.where, expected="text")
        before[as_set] = value
        changed = (*recipe.modified, *as_set)
        try:
            recipes.load(str(recipe.file), recipes_dir=project.recipes_dir, overrides=changed)
        except RecipeError as error:
            said = "; ".join(error.mistakes) or error.what
            if said not in seen:
                seen.add(said)
                yield RecipeError(
                    f"{one.setting} = {value!r}: {said}",
                    where=one.where,
                    expected=error.expected,
                    fix=error.fix,
                )


def _ends(one: Distribution) -> tuple[Any, ...]:
    return one.choices if one.kind == "categorical" else (one.low, one.high)
