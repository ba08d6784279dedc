"""`reprokit data`: what recipes declare by name, fetched into the cache of this machine and checked there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import data, recipes, workspace
from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import DataError, UsageError
from reprokit.harness.preparing import StepResult, prepare
from reprokit.harness.running.environments.recipe_data import sources_of
from reprokit.images.cache import cache_folder
from reprokit.project import Project
from reprokit.request import Request

#: Set to anything but 0, it means what ``--offline`` means.
OFFLINE = "REPROKIT_OFFLINE"


def declared(names: Sequence[str], *, project: Project) -> Iterator[tuple[str, data.DataSource]]:
    """Recipe and source of all data that recipes declare by name; of every recipe where none is named.

    Raises:
        RecipeError: A recipe cannot be read.
    """
    for name in names or recipes.list_names(project.recipes_dir):
        recipe = recipes.load(name, recipes_dir=project.recipes_dir)
        yield from ((recipe.name, source) for source in sources_of(recipe))


def listed(names: Sequence[str], *, project: Project) -> list[tuple[str, data.SourceState]]:
    """Recipe and state of each, without reading the data: whether it is there, with its size."""
    cache = cache_folder(None)
    return [(name, data.glance(one, cache=cache)) for name, one in declared(names, project=project)]


def verified(names: Sequence[str], *, project: Project) -> list[tuple[str, data.SourceState]]:
    """Recipe and state of each, all of it read and compared with its digest: copy and file itself."""
    cache = cache_folder(None)
    return [(name, _verified(one, cache=cache)) for name, one in declared(names, project=project)]


def _verified(source: data.DataSource, *, cache: Path) -> data.SourceState:
    state = data.check(source, cache=cache)
    if state.status is data.SourceStatus.READY and (problem := data.other_at_its_place(source)):
        return replace(state, status=data.SourceStatus.CHANGED, problem=problem)
    return state


def fetched(
    names: Sequence[str],
    *,
    project: Project,
    offline: bool,
    if_any: bool = False,
    on_progress: data.OnProgress,
) -> list[tuple[str, data.SourceState]]:
    """Recipe and state of each file of these recipes, or of all of them, every one in the cache now.

    Raises:
        UsageError: They declare nothing that is fetched, and ``if_any`` is not set.
        DataError: Something could not be fetched as declared.
    """
    found = list(declared(names, project=project))
    if not found and not if_any:
        who = ", ".join(names) if names else "no recipe here"
        verb = "declares no" if len(names) == 1 else "declare no" if names else "declares"
        raise UsageError(f"{who} {verb} data by name: there is nothing to fetch", where=", ".join(names))
    cache, offline = cache_folder(None), offline or is_offline()
    states, failed = [], []
    for recipe, one in found:
        try:
            state = (
                data.check(one, cache=cache)
                if one.prepared_by
                else data.fetch(one, cache=cache, offline=offline, on_progress=on_progress)
            )
            if other := data.other_at_its_place(one):
                on_progress(one, 0, f"the copy in the cache is used: {other}")
            states.append((recipe, state))
        except DataError as error:  # the others are fetched all the same
            failed.append(error)
    if failed:
        raise failed[0]
    return states


def prepared(
    name: str, *, project: Project, backend: str, twice: bool, again: bool, note: Callable[[str], None]
) -> list[StepResult]:
    """Each step of a recipe's preparation, up to the first with a problem.

    Raises:
        UsageError: The recipe prepares nothing.
        DataError: A step failed, or what it reads is not there as declared.
    """
    recipe = recipes.load(name, recipes_dir=project.recipes_dir)
    request = Request(backend=backend)
    return list(prepare(recipe, request, project=project, twice=twice, again=again, note=note))


def exported(name: str, folder: Path, *, project: Project) -> dict[str, Any]:
    """Copy all data of a recipe into an empty folder, with a ``manifest.json`` of digests, written last.

    Raises:
        UsageError: The folder is not empty, or the recipe declares no data by name.
        DataError: Something is not in the cache as declared.
    """
    states = ready(name, project=project)
    files: dict[str, Any] = {}
    with filling(folder):
        for state in states:
            for copy in _copied(state.path, folder / state.source.name):
                called = copy.relative_to(folder).as_posix()
                files[called] = {"sha256": workspace.sha256_of(copy), "bytes": copy.stat().st_size}
        record = {
            "schema": SCHEMA_VERSION,
            "recipe": name,
            "data": {state.source.name: state.source.sha256 for state in states},
            "files": files,
        }
        workspace.write_json(folder / "manifest.json", record)
    return record


def _copied(source: Path, target: Path) -> Iterator[Path]:
    """Each file of a copy, in order; of a folder, all below it."""
    if not source.is_dir():
        shutil.copyfile(source, target)
        yield target
        return
    target.mkdir()
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir()
        else:
            shutil.copyfile(path, place)
            yield place


def ready(name: str, *, project: Project) -> list[data.SourceState]:
    """All data of a recipe, read and found to be as declared.

    Raises:
        UsageError: The recipe declares none by name.
        DataError: Something is not in the cache as declared.
    """
    cache = cache_folder(None)
    found = [data.check(one, cache=cache) for _, one in declared([name], project=project)]
    if not found:
        raise UsageError(f"{name} declares no data by name", where=name)
    for state in found:
        if state.status is not data.SourceStatus.READY:
            what = f"the data {state.source.name} is not as declared: {state.problem}"
            verb = "prepare" if state.source.prepared_by else "fetch"
            raise DataError(what, where=state.source.where, fix=f"reprokit data {verb} {name}")
    return found


@contextmanager
def filling(folder: Path) -> Iterator[None]:
    """Make a folder and let it be filled; where that does not succeed, it is as empty as before.

    Raises:
        UsageError: It is not empty.
        WorkspaceError: It cannot be written, or the disk is full.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError("the folder is not empty", where=str(folder), fix="name a new one")
        try:
            yield
        except BaseException:  # whatever it was, half of a copy is nothing
            for left in folder.iterdir():
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            raise
    except OSError as error:
        raise workspace.cannot_write(folder, error) from error


def is_offline() -> bool:
    """Whether the environment says that no network is to be used."""
    return os.environ.get(OFFLINE, "0") not in {"", "0"}
