"""Every golden compared with its own files, and against the recipe as it is today."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from reprokit import adapters, golden, recipes
from reprokit.core import inputs
from reprokit.errors import GoldenError, ReprokitError
from reprokit.golden.folder import OF_CPU
from reprokit.golden.lint import EDITED, GoldenFinding, lint
from reprokit.harness.judging.ensemble_evidence import why_silent
from reprokit.harness.judging.seed_response import recorded_in
from reprokit.harness.running.numbers import recipe_digests
from reprokit.layout import ENSEMBLE, PROVENANCE
from reprokit.project import Project
from reprokit.records.provenance_json import was_edited

#: Folders of a platform: goldens of a seed, or of one model of CPU, the ensemble, what is being written.
_GOLDEN = re.compile(rf"seed-(?:0|[1-9]\d*)|{re.escape(OF_CPU)}.*|{ENSEMBLE}|\..*")


def lint_goldens(project: Project, *, min_runs: int, names: tuple[str, ...] = ()) -> list[GoldenFinding]:
    """Everything wrong with the goldens of a project, or of some recipes, in the order of ``golden list``."""
    rows = [row for row in golden.list_all(project.golden_dir) if not names or row.recipe in names]
    found = [finding for row in rows for finding in _of(row.path, row.problem, project, min_runs)]
    found += _strays(project.golden_dir, names)
    ensembles = [row for row in golden.list_ensembles(project.golden_dir) if not names or row.recipe in names]
    return [*found, *(finding for row in ensembles for finding in _of_ensemble(row.path, project))]


def _strays(golden_dir: Path, names: tuple[str, ...]) -> Iterator[GoldenFinding]:
    """Folders among goldens that are none by their name, so that nothing is ever compared with them."""
    for path in sorted(golden_dir.glob("*/*/*")):
        is_asked = not names or path.parent.parent.name in names
        if is_asked and path.is_dir() and not _GOLDEN.fullmatch(path.name):
            what = f"{path.name!r} does not have the name of a golden, so nothing is compared with it"
            remedy = "remove it, or rename it to seed-<n> if it is one"
            yield GoldenFinding(rule="orphan", where=str(path), what=what, remedy=remedy)


def _of_ensemble(path: Path, project: Project) -> Iterator[GoldenFinding]:
    """Whether it is what was promoted, and what its recipe declares; code may change, margins may not."""
    where, restore = str(path), "restore it with git, or promote again: `reprokit golden promote --sweep`"
    try:
        ensemble = golden.load_ensemble(path)
        told = ensemble.provenance
    except GoldenError as error:
        yield GoldenFinding(rule="unreadable", where=where, what=str(error), remedy=restore)
        return
    if was_edited(ensemble.document):
        yield GoldenFinding(rule="provenance", where=str(path / PROVENANCE), what=EDITED, remedy=restore)
    if silent := why_silent(ensemble):
        remedy = "seed the program with {seed}, sweep and promote again; or declare another metric or window"
        yield GoldenFinding(rule="responds", where=where, what=silent, remedy=remedy)
    try:
        recipe = recipes.load(told.recipe, recipes_dir=project.recipes_dir)
    except ReprokitError as error:
        what, remedy = f"its recipe cannot be read: {error}", "remove the ensemble, or restore its recipe"
        yield GoldenFinding(rule="orphan", where=where, what=what, remedy=remedy)
        return
    if told.platform not in recipe.platforms:
        what = f"its recipe does not declare the platform {told.platform}"
        yield GoldenFinding(
            rule="orphan", where=where, what=what, remedy="remove the ensemble, or declare it"
        )
    if tuple(one.as_blessed() for one in recipe.statistical) != told.statistical:
        what = f"{recipe.where('statistical')} declares other metrics, windows, directions or margins"
        yield GoldenFinding(rule="statistical", where=where, what=what, remedy=restore)


def _of(path: Path, problem: str, project: Project, min_runs: int) -> Iterator[GoldenFinding]:
    try:
        blessed = golden.load(path)
        yield from lint(blessed, min_runs=min_runs)
        yield from _response(blessed)
        yield from _against_recipe(blessed, project)
    except (GoldenError, OSError, ValueError) as error:
        what = problem or str(error)
        yield GoldenFinding(
            rule="unreadable", where=str(path), what=what, remedy="restore it with git, or promote again"
        )


def _response(blessed: golden.Golden) -> Iterator[GoldenFinding]:
    """Whether what it says of other seeds still shows that a metric responds."""
    recorded = blessed.provenance.responds
    own = set(adapters.read_series(blessed.metrics)) if recorded else set()
    invented = [name for name in recorded.metrics if own and name not in own] if recorded else []
    if invented:
        what = f"it names metrics that respond to the seed, but does not have them: {', '.join(invented)}"
        remedy = "restore it with git, or promote again"
        yield GoldenFinding(rule="responds", where=str(blessed.path), what=what, remedy=remedy)
    elif recorded and not recorded_in(blessed.path):
        named = ", ".join(recorded.metrics)
        what = f"what responded to the seed when it was promoted may only repeat it: {named}"
        remedy = "`reprokit reproduce` looks again, with other seeds; then promote again"
        yield GoldenFinding(rule="responds", where=str(blessed.path), what=what, remedy=remedy)


def _against_recipe(blessed: golden.Golden, project: Project) -> Iterator[GoldenFinding]:
    told = blessed.provenance
    if told.command:
        return  # of a plain command, which no recipe stands for
    name, where = told.recipe, str(blessed.path)
    remove = "remove the golden, or restore what it belongs to"
    try:
        recipe = recipes.load(name, recipes_dir=project.recipes_dir)
        asked = recipe.asked_on(told.platform)
        if asked:
            recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=asked)
        today = recipe_digests(recipe)
    except ReprokitError as error:
        yield GoldenFinding(
            rule="orphan", where=where, what=f"its recipe cannot be read: {error}", remedy=remove
        )
        return
    if told.platform not in recipe.platforms:
        what = f"its recipe does not declare the platform {told.platform}"
        yield GoldenFinding(rule="orphan", where=where, what=what, remedy=remove)
    if told.seed not in recipe.seeds:
        what = f"its recipe does not declare the seed {told.seed}"
        yield GoldenFinding(rule="orphan", where=where, what=what, remedy=remove)
    if blessed.is_foreign:
        return
    changed = inputs.changed(told.digests, {**told.digests, "parts": None, **today})
    if changed:
        what = f"{', '.join(changed)} changed since it was promoted"
        on = f" --platform {told.platform}" if asked else ""
        remedy = (
            f"`reprokit reproduce {name}{on}`; if its numbers are meant, `reprokit golden promote {name}{on}`"
        )
        yield GoldenFinding(rule="stale", where=where, what=what, remedy=remedy)
