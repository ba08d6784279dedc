"""The seeds that a gate judges: those declared, and those that have a golden."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reprokit import golden
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.request import Request

__all__ = ["recorded_seeds", "seeds_of"]


def seeds_of(recipe: Recipe, request: Request, project: Project, platform: str) -> Sequence[int]:
    """The seeds that a gate judges: the one requested, else all declared seeds and all that have a golden.

    A declared seed whose golden was removed is judged all the same, and is NO_GOLDEN.
    """
    if request.seed is not None:
        return (request.seed,)
    recorded = recorded_seeds(recipe, project, platform)
    return (*recipe.seeds, *(seed for seed in recorded if seed not in recipe.seeds))


def recorded_seeds(recipe: Recipe, project: Project, platform: str) -> Sequence[int]:
    """The seeds that have a golden on a platform, in ascending order."""
    folder = project.golden_dir / recipe.name / platform
    found = {
        int(path.name.removeprefix("seed-"))
        for path in (*folder.glob("seed-*"), *folder.glob(f"{golden.OF_CPU}*/seed-*"))
        if re.fullmatch(r"seed-[0-9]{1,10}", path.name)
    }
    return sorted(found)
