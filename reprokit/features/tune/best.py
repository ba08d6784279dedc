"""The best trial of a search: run with seeds that it was not chosen by, and written as a recipe."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit import recipes, workspace
from reprokit.errors import RecipeError, UsageError
from reprokit.features.tune.definition import Definition, changed_settings
from reprokit.features.tune.studies import Trial
from reprokit.layout import RECIPE
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.recipes.schema_types import PLAIN_NAME

if TYPE_CHECKING:
    from reprokit.core.statistics.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshSeeds:
    """The best trial's settings with seeds that had no part in choosing it.

    Attributes:
        seeds: These.
        values: The number that was searched for, with each of them; None where its run has none.
        messages: Seed → why its run has none.
        tuned: The number by which the trial was chosen.
        interval: The mean's 95 % interval by Student's t; None with fewer than two values.
    """

    seeds: tuple[int, ...]
    values: tuple[float | None, ...]
    messages: Mapping[int, str]
    tuned: float
    interval: tuple[float, float] | None

    @property
    def mean(self) -> float | None:
        """The mean over the fresh seeds; None where one of them has no value."""
        found = [value for value in self.values if value is not None]
        return sum(found) / len(found) if found and len(found) == len(self.values) else None

    def optimism(self, definition: Definition) -> float | None:
        """How much better the trial looked on the seeds that chose it, in units of the metric."""
        mean = self.mean
        return None if mean is None else definition.objective.sign * (self.tuned - mean)

    def as_data(self, definition: Definition) -> dict[str, Any]:
        """It as ``--json`` has it."""
        return {
            "seeds": list(self.seeds),
            "values": list(self.values),
            "mean": self.mean,
            "interval": None if self.interval is None else list(self.interval),
            "tuned": self.tuned,
            "optimism": self.optimism(definition),
            "messages": {str(seed): message for seed, message in self.messages.items()},
        }


def fresh_seeds(
    seeds: Sequence[int], values: Sequence[float | None], *, tuned: float, messages: Mapping[int, str]
) -> FreshSeeds:
    """What the runs with fresh seeds came to."""
    from reprokit.core.statistics.intervals import student_t  # scipy takes its time

    found = [value for value in values if value is not None]
    interval = student_t(found) if len(found) == len(values) > 1 else None
    return FreshSeeds(
        seeds=tuple(seeds),
        values=tuple(values),
        messages=messages,
        tuned=tuned,
        interval=_ends(interval),
    )


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    if interval is None or interval.low is None or interval.high is None:
        return None
    return interval.low, interval.high


def must_be_fresh(seeds: Sequence[int], definition_seeds: Sequence[int]) -> None:
    """Refuse seeds by which trials were chosen.

    Raises:
        UsageError: One of them is among those.
    """
    both = sorted(set(seeds) & set(definition_seeds))
    if both:
        raise UsageError(
            f"the trials are chosen by seed {both[0]}, so it says nothing new",
            where="--report-seeds",
            fix="name other seeds, such as 1000..1004",
        )


def must_be_free(name: str, project: Project) -> None:
    """Refuse a name for the best recipe that is taken, or is none.

    Raises:
        UsageError: There is such a recipe, or no recipe can be called so.
    """
    if not re.fullmatch(PLAIN_NAME, name):
        raise UsageError(
            "no recipe can be called so", where=f"--save-best {name}", expected="letters, digits, - and _"
        )
    folder = project.recipes_dir / name
    if folder.exists():
        raise UsageError(
            "there is a recipe of this name already", where=f"--save-best {name}", fix="choose another"
        )


def save_best(best: Trial, recipe: Recipe, definition: Definition, *, name: str, project: Project) -> Path:
    """Write the best trial as a recipe; returns its file.

    Args:
        best: The trial.
        recipe: The one that was tuned, with the settings that every trial has.
        definition: The search.
        name: Of the new recipe.
        project: The folders.

    Raises:
        UsageError: There is a recipe of that name.
        RecipeError: The name is none for a recipe.
        WorkspaceError: It cannot be written.
    """
    must_be_free(name, project)
    file = project.recipes_dir / name / RECIPE
    settings = {**_fixed(definition), **best.params}
    text = recipes.derived_text(
        recipe.file,
        name=name,
        settings=settings,
        comment=f"{recipe.name} with the settings of trial {best.number} of {definition.name}.",
    )
    file.parent.mkdir(parents=True)
    try:
        for one in recipe.data if isinstance(recipe.data, tuple) else ():
            shutil.copyfile(recipe.path / str(one["name"]), file.parent / str(one["name"]))
        workspace.write_atomic(file, text.encode())
        texts = (*definition.fixed, *changed_settings(best.params))
        meant = recipes.load(str(recipe.file), recipes_dir=project.recipes_dir, overrides=texts)
        _must_compute_the_same(recipes.load(name, recipes_dir=project.recipes_dir), meant)
    except BaseException:
        shutil.rmtree(file.parent)
        raise
    return file


def _must_compute_the_same(written: Recipe, meant: Recipe) -> None:
    if written.digest != meant.digest:
        raise RecipeError(
            "the written recipe does not compute what the trial computes", where=str(written.file)
        )


def _fixed(definition: Definition) -> dict[str, Any]:
    parsed = (recipes.parse_override(text) for text in definition.fixed)
    return {".".join(one.path): one.value for one in parsed}
