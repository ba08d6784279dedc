"""A recipe compared with its schema and against what the project has, before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from reprokit import recipes
from reprokit.errors import RecipeError, ReprokitError, UsageError
from reprokit.harness.running.programs.program_files import idle_patterns
from reprokit.harness.running.seeds import recorded_seeds
from reprokit.images import locks
from reprokit.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeFinding:
    """One thing about a recipe: a ``mistake``, with which nothing runs, or a ``note``."""

    recipe: str
    level: str  # `mistake` or `note`
    what: str  # with file and line where it has one
    fix: str


def check_recipes(project: Project, *, names: Sequence[str] = ()) -> dict[str, list[RecipeFinding]]:
    """What is wrong with each recipe, or with those named; nothing is run, no engine is asked.

    Raises:
        RecipeError: There is no folder of recipes.
    """
    chosen = names or recipes.list_names(project.recipes_dir)
    return {name: list(_of(name, project)) for name in chosen}


def _of(name: str, project: Project) -> Iterator[RecipeFinding]:
    try:
        recipe = recipes.load(name, recipes_dir=project.recipes_dir)
    except RecipeError as error:
        yield RecipeFinding(recipe=name, level="mistake", what=error.told(), fix=error.fix or "")
        return
    yield from _environment(recipe, project)
    if recipe.program is not None:
        yield from _placeholders(recipe, recipe.program)
        yield from _unseen(recipe, project)
    yield from _wide(recipe)
    yield from _goldens(recipe, project)


def _environment(recipe: recipes.Recipe, project: Project) -> Iterator[RecipeFinding]:
    where = recipe.where("variant")
    if recipe.variant == recipes.NO_VARIANT:
        what = f"{where}: nothing pins the environment: the program runs in the Python that calls it"
        yield RecipeFinding(
            recipe=recipe.name, level="note", what=what, fix="reprokit image lock NAME --dependencies FILE"
        )
        return
    try:
        locks.read_lock(project.root).variant(recipe.variant)
    except ReprokitError as error:
        yield RecipeFinding(
            recipe=recipe.name, level="mistake", what=f"{where}: {error.told()}", fix=error.fix or ""
        )


def _placeholders(recipe: recipes.Recipe, program: recipes.Program) -> Iterator[RecipeFinding]:
    """What a command leaves out, each of which has its own line in the how-to."""
    words = " ".join([*program.command, *program.variables.values()])
    where, name = recipe.where("command"), recipe.name
    if "{seed}" not in words:
        what = f"{where}: no {{seed}} in the command: every seed gives the same numbers"
        yield RecipeFinding(recipe=name, level="note", what=what, fix="reprokit help bring-your-own-program")
    if "{run_dir}" not in words and not program.collect and program.printed is None:
        what = (
            f"{where}: neither {{run_dir}} in the command nor `collect` nor `printed`: no metrics are found"
        )
        yield RecipeFinding(recipe=name, level="note", what=what, fix="reprokit help bring-your-own-program")


def _unseen(recipe: recipes.Recipe, project: Project) -> Iterator[RecipeFinding]:
    """Patterns of files that the program is to see, and of which there is none."""
    with suppress(UsageError):  # without git nothing can run, which is said elsewhere
        for pattern in idle_patterns(recipe, project.root):
            what = f"{recipe.where('sees')}: {pattern!r} fits no file that git tracks: the program finds none"
            fix = "correct it, or `git add` the file"
            yield RecipeFinding(recipe=recipe.name, level="note", what=what, fix=fix)


def _wide(recipe: recipes.Recipe) -> Iterator[RecipeFinding]:
    """Patterns that leave every metric out, and tolerances within which nothing can differ."""
    for pattern, _ in recipe.program.volatile if recipe.program is not None else ():
        if not pattern.strip("*?"):
            what = f"{recipe.where('volatile')}: {pattern!r} matches every metric: none of them is compared"
            fix = "name those that are to be left out"
            yield RecipeFinding(recipe=recipe.name, level="note", what=what, fix=fix)
    tolerances = recipe.as_data().get("tolerances")
    for name, terms in _terms(tolerances if isinstance(tolerances, dict) else {}):
        if terms.get("rtol", 0) >= 1:
            wide = f"within an rtol of {terms['rtol']:g}, {name} may be 0 in place of any value"
            what = f"{recipe.where('tolerances')}: {wide}"
            yield RecipeFinding(recipe=recipe.name, level="note", what=what, fix="write an rtol below 1")


def _terms(tolerances: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Metric or pattern → the terms of its tolerance, of every platform too."""
    yield "every metric", tolerances.get("default") or {}
    yield from (tolerances.get("metrics") or {}).items()
    for own in (tolerances.get("platforms") or {}).values():
        yield from _terms(own)


def _goldens(recipe: recipes.Recipe, project: Project) -> Iterator[RecipeFinding]:
    for platform in recipe.platforms:
        there = recorded_seeds(recipe, project, platform)
        missing = [seed for seed in recipe.seeds if seed not in there]
        if missing:
            seeds = ", ".join(map(str, missing))
            what = f"{recipe.where('platforms')}: no golden on {platform} for seed {seeds}"
            which = f"--seed {missing[0]}" + (f" --platform {platform}" if len(recipe.platforms) > 1 else "")
            fix = f"reprokit golden promote {recipe.name} {which} --reason 'first golden'"
            yield RecipeFinding(recipe=recipe.name, level="note", what=what, fix=fix)
