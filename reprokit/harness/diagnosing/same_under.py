"""Runs a recipe once more with each thing that its owner says must not matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import recipes
from reprokit.errors import RecipeError
from reprokit.harness.judging.rounding_of_pair import twins_of_pair
from reprokit.harness.judging.same_under_evidence import claims_to_round, overrides_of, thread_name
from reprokit.harness.judging.varied_evidence import agree
from reprokit.harness.running.run_kinds import RunKind, VariedRun, WholeRun
from reprokit.harness.running.start_runs import run_recipe
from reprokit.harness.running.varying.apply_variations import pinned_cores
from reprokit.recipes import Recipe
from reprokit.recipes.same_under import NUM_THREADS
from reprokit.request import Request
from reprokit.session import Session
from reprokit.variations import Variation


def claimed_recipes(recipe: Recipe, *, session: Session) -> tuple[Recipe, ...]:
    """The recipe with each claim set, in their order.

    Raises:
        RecipeError: A claim sets what the recipe does not have, or adds arguments to a trainer.
    """
    return tuple(_claimed(recipe, number, session=session) for number in range(len(recipe.same_under)))


def _claimed(recipe: Recipe, number: int, *, session: Session) -> Recipe:
    entry = recipe.same_under[number]
    if entry.get("args") and recipe.program is None:
        raise RecipeError(
            "a trainer takes settings and no arguments",
            where=recipe.where("same_under"),
            expected="`set: training.NAME=VALUE`",
        )
    if entry.get("threads") and recipe.ranks is not None:
        raise RecipeError("the ranks of a training share the threads", where=recipe.where("same_under"))
    command = recipe.program.command if recipe.program else None
    overrides = (*recipe.asked, *overrides_of(entry, command))
    return recipes.load(recipe.name, recipes_dir=session.project.recipes_dir, overrides=overrides)


def run_claims(
    recipe: Recipe, folders: Sequence[Path], request: Request, *, varied: int, session: Session
) -> tuple[Path, ...]:
    """The folder of a run with each claim; none where the runs do not agree.

    Args:
        recipe: The recipe as the pair ran it.
        folders: The pair.
        request: How it runs.
        varied: How many varied runs there are besides the pair already.
        session: The project.
    """
    if not agree(folders):
        return ()
    made = list[Path]()
    claimed = claimed_recipes(recipe, session=session)
    cores = pinned_cores(folders[0])
    for number, (entry, one) in enumerate(zip(recipe.same_under, claimed, strict=True), start=1):
        asked = replace(request, overrides=one.asked, repeats=1)
        kind: RunKind = WholeRun(beside=len(folders) if cores else 1)
        if threads := entry.get("threads"):
            kind = _with_threads(varied + number, threads, cores=cores)
        made += run_recipe(one, asked, kind, session=session)
    return tuple(made)


def run_twins(
    recipe: Recipe, first: Path, claimed: Sequence[Path], request: Request, *, taken: int, session: Session
) -> dict[str, Mapping[str, Any]]:
    """Of each run that differs and may do so by rounding: what twins of the first run were made.

    Args:
        recipe: The recipe as the pair ran it.
        first: The first run of the pair.
        claimed: The runs with the claims.
        request: How it runs.
        taken: How many varied runs and claims there are besides the pair already.
        session: The project.
    """
    asked = replace(request, repeats=1)

    def make(variation: Variation, number: int) -> Path:
        kind = VariedRun(number=taken + number, chosen=(variation,))
        return run_recipe(recipe, asked, kind, session=session)[0]

    return {str(one): twins_of_pair(first, one, make) for one in claims_to_round(first, claimed)}


def _with_threads(number: int, threads: int, *, cores: tuple[int, ...]) -> VariedRun:
    variation = Variation(
        category="nonportable_numerics",
        fix="fix the number of threads",
        name=thread_name(threads),
        says=f"{threads} threads",
        environment=dict.fromkeys(NUM_THREADS, str(threads)),
    )
    return VariedRun(number=number, chosen=(variation,), cores=cores)
