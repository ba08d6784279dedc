"""The project's own files in place of their copies in a run's folder or in a container."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from reprokit.diagnosis import Cause
from reprokit.execution.docker_config import MOUNTS
from reprokit.harness.diagnosing.diagnosis import Diagnosis, Tap
from reprokit.harness.running.programs.program_output import PROGRAM_MOUNT, WORK
from reprokit.layout import PROGRAM
from reprokit.recipes import PARTS, Recipe

_Placed = TypeVar("_Placed", Cause, Tap)


def to_source(recipe: Recipe) -> Callable[[str], str]:
    """A function that puts the paths of the program's own files in place of those of their copies."""
    if recipe.trainer is None:
        copies = rf"(?:/[^\s:]*/{PROGRAM}|{MOUNTS}/{PROGRAM_MOUNT}|[^\s:]*/{re.escape(WORK)})"
        copy, files = re.compile(rf"{copies}/([^\s:]+)"), {}
    else:
        files = {f"trainers/{recipe.trainer.name}": recipe.trainer}
        files |= {f"{PARTS}/{part.name}": part.path for part in recipe.parts}
        names = "|".join(map(re.escape, files))
        copy = re.compile(rf"(?:/[^\s:]*/source|{MOUNTS}/recipes)/({names})(?![\w.])")

    def there(text: str) -> str:
        return copy.sub(lambda match: str(files.get(match[1]) or recipe.project_dir / match[1]), text)

    return there


def in_source(found: Diagnosis, recipe: Recipe) -> Diagnosis:
    """The same answer, with the paths of the program's own files instead of their copies."""
    there = to_source(recipe)

    def moved(one: _Placed) -> _Placed:
        return replace(one, file=there(one.file)) if one.file else one

    return replace(
        found,
        causes=tuple(map(moved, found.causes)),
        taps=tuple(map(moved, found.taps)),
        known=tuple(map(there, found.known)),
        ruled_out=tuple(replace(one, what=there(one.what)) for one in found.ruled_out),
    )
