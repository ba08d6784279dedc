"""Words that are added to the command of a recipe, as one setting of it."""

from __future__ import annotations

import json
import shlex

from reprokit.errors import UsageError
from reprokit.recipes.recipe import Recipe


def words_of(arguments: str) -> tuple[str, ...]:
    """Arguments as they are typed in a shell, as words.

    Raises:
        UsageError: A quotation mark is not closed.
    """
    try:
        return tuple(shlex.split(arguments))
    except ValueError as error:
        raise UsageError(f"the arguments cannot be read: {error}", where=arguments) from error


def command_with(recipe: Recipe, words: tuple[str, ...], *, fix: str) -> str:
    """The override that adds words to a recipe's command.

    >>> command_with(recipe, ("--lr", "0.1"), fix="--set training.NAME=VALUE")
    'command=["python", "train.py", "--lr", "0.1"]'

    Raises:
        UsageError: The recipe has no command; ``fix`` says what to do.
    """
    if recipe.program is None:
        raise UsageError(
            "the recipe runs a trainer, which takes settings and no arguments",
            where=recipe.where("trainer"),
            fix=fix,
        )
    return f"command={json.dumps([*recipe.program.command, *words])}"
