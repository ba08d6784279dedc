"""Settings changed on the command line (``--set PATH=VALUE``), validated as if the file had said them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprokit.core.run_record import RunRecord
from reprokit.errors import RecipeError
from reprokit.recipes.document import read_text
from reprokit.recipes.mistakes import quoted
from reprokit.recipes.setting_origin import dotted
from reprokit.recipes.source_file import UNWANTED, named

#: Asks for the settings of a platform, as ``--platform`` does, and is no change to a recipe.
PLATFORM = "platform"

_IDENTITY = {"schema", "name"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """One setting changed on the command line."""

    path: tuple[str, ...]  # keys from the top level down
    value: Any  # as the strict YAML reader reads it
    text: str  # `path=value` as typed; what `modified` records


def parse(text: str) -> Override:
    """Read one ``path=value``.

    Raises:
        RecipeError: No path, no value, a value that is not YAML, or a key that is a recipe's identity.
    """
    if found := UNWANTED.search(text):
        raise RecipeError(f"{named(found[0])} in the override", where="--set")
    name, equals, value = text.partition("=")
    path = tuple(part.strip() for part in name.split("."))
    where = f"--set {dotted(path)}"
    if not equals or not all(path) or not value.strip():
        raise RecipeError(
            f"cannot read {text!r}",
            where="--set",
            expected="path=value, for example training.learning_rate=1e-3",
        )
    if path[0] in _IDENTITY:
        raise RecipeError(f"{path[0]!r} says which recipe this is and cannot be overridden", where=where)
    data = read_text(value, where=where, numbered=False).data
    if path[0] == "env" and isinstance(data, bool | int | float):
        data = value.partition(" #")[0].strip()  # a variable is text whatever it looks like
    return Override(path=path, value=data, text=f"{dotted(path)}={value.strip()}")


def apply(data: Mapping[str, Any], overrides: Sequence[Override]) -> dict[str, Any]:
    """A copy of a recipe's data with the overrides in it, in the order given.

    Raises:
        RecipeError: A path is given twice, or leads through something that is no section.
    """
    result: dict[str, Any] = copy.deepcopy(dict(data))
    seen: set[tuple[str, ...]] = set()
    for override in overrides:
        where = f"--set {dotted(override.path)}"
        if override.path in seen:
            raise RecipeError("the setting is given twice", where=where, fix="remove one of them")
        seen.add(override.path)
        section = result
        for depth, key in enumerate(override.path[:-1], start=1):
            section = section.setdefault(key, {})
            if not isinstance(section, dict):
                what = f"{dotted(override.path[:depth])} is {quoted(section)}, not a section"
                raise RecipeError(what, where=where, fix=f"set {dotted(override.path[:depth])} as a whole")
        section[override.path[-1]] = override.value
    return result


def platform_asked(overrides: Sequence[str]) -> str:
    """The platform whose settings overrides ask for (``platform=NAME``), or ""."""
    names = [
        override.partition("=")[2].strip()
        for override in overrides
        if override.partition("=")[0].strip() == PLATFORM
    ]
    return "".join(names[-1:])


def asked_of(record: RunRecord) -> tuple[str, ...]:
    """What a recipe must be loaded with to be the one of a ``run.json``: its platform, and the overrides."""
    return with_platform(record.modified or (), record.platform_asked or "")


def with_platform(overrides: Sequence[str], platform: str) -> tuple[str, ...]:
    """Overrides that ask for a platform's settings too; as they are, where it is ""."""
    return (f"{PLATFORM}={platform}", *overrides) if platform else tuple(overrides)
