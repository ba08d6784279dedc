"""What was asked of one side of a recipe: a commit or the working tree, and what is otherwise there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from reprokit.errors import UsageError

if TYPE_CHECKING:
    from reprokit.recipes import Recipe

_PYTHONS = ("python", "python3")


@dataclass(frozen=True, slots=True, kw_only=True)
class SideAsked:
    """One side.

    Attributes:
        revision: A commit, branch or tag; None for the working tree as it is.
        overrides: ``path=value`` settings.
        arguments: Words that are added to the command of the recipe.
        variant: Another environment, by its name; None for the recipe's own.
        lock: A file of pinned packages in place of the environment's; None for its own.
        packages: Requirements that its packages are solved with, such as ``jax==0.5.3``.
        python: Another version of Python, such as 3.13.
        threads: How many threads the numeric libraries use.
        cpu: The CPU that is emulated.
    """

    revision: str | None = None
    overrides: tuple[str, ...] = ()
    arguments: str | None = None
    variant: str | None = None
    lock: str | None = None
    packages: tuple[str, ...] = ()
    python: str | None = None
    threads: int | None = None
    cpu: str | None = None

    @property
    def is_as_it_is(self) -> bool:
        """Whether nothing but the revision is asked for."""
        return replace(self, revision=None) == SideAsked()

    @property
    def needs_lock(self) -> bool:
        """Whether its environment is another than the tree has."""
        return bool(self.lock or self.packages or self.python)


def sides_asked(options: Mapping[str, Any]) -> dict[str, SideAsked]:
    """Both sides from the options of the verb.

    Without ``--a`` and ``--b``, HEAD is compared with the working tree; where a side has something else set,
    both are the working tree, so that nothing but that differs.
    """
    asked = {}
    for side in ("a", "b"):
        values = {field.name: options.get(f"{side}_{field.name}") for field in fields(SideAsked)}
        given = {name: value for name, value in values.items() if value not in (None, ())}
        asked[side] = SideAsked(**{**given, "revision": options.get(side)})
    is_plain = asked["a"].is_as_it_is and asked["b"].is_as_it_is
    if asked["a"].revision is None and (asked["b"].revision is not None or is_plain):
        asked["a"] = replace(asked["a"], revision="HEAD")
    return asked


def overrides_of(asked: SideAsked, recipe: Recipe) -> tuple[str, ...]:
    """Everything that is set on a side, as overrides of its recipe: settings, arguments, environment.

    Args:
        asked: The side.
        recipe: The recipe as its tree has it.

    Raises:
        UsageError: Arguments are asked for and the recipe has no command to add them to.
    """
    from reprokit.recipes import NO_VARIANT, command_with, words_of  # not to know which commits are asked for

    found = [*asked.overrides, *([f"variant={asked.variant}"] if asked.variant else [])]
    command = recipe.program.command if recipe.program else None
    words = words_of(asked.arguments or "")
    python = asked.python if recipe.variant == NO_VARIANT and asked.variant is None else None
    if words and not python:
        found.append(command_with(recipe, words, fix="--b-set training.NAME=VALUE"))
    elif command is not None and python:
        first = f"python{python}" if python and command[0] in _PYTHONS else command[0]
        if python and first == command[0]:
            raise UsageError(
                "the command does not begin with python, so no other version can run it",
                where=recipe.where("command"),
            )
        found.append(f"command={json.dumps([first, *command[1:], *words])}")
    return tuple(found)
