"""`reprokit data`: what recipes declare by name, fetched into the cache of this machine and checked there."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit import data, recipes, workspace
from reprokit.core.records import SCHEMA_VERSION, digest_bytes
from reprokit.errors import DataError, UsageError
from reprokit.harness.preparing import StepResult, prepare
from reprokit.harness.running.recipe_data import sources_of
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


def listed(names: Sequence[str], *, project: Project) -> list[tuple[str, data.State]]:
    """Recipe and state of each, without reading the data: whether it is there, with its size."""
    cache = cache_folder(None)
    return [(name, data.glance(one, cache=cache)) for name, one in declared(names, project=project)]


def verified(names: Sequence[str], *, project: Project) -> list[tuple[str, data.State]]:
    """Recipe and state of each, all of it read and held against its digest."""
    cache = cache_folder(None)
    return [(name, data.check(one, cache=cache)) for name, one in declared(names, project=project)]


def fetched(
    names: Sequence[str],
    *,
    project: Project,
    offline: bool,
    if_any: bool = False,
    on_progress: data.OnProgress,
) -> list[tuple[str, data.State]]:
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


def tables_of(name: str, *, project: Project) -> Iterator[tuple[str, Path]]:
    """What a table is called, and its file: of a file, or of all tables that a recipe declares.

    Raises:
        DataError: Data of the recipe is not in the cache as declared.
        UsageError: There is no table of that name.
    """
    if Path(name).suffix in data.SUFFIXES:
        yield Path(name).name, Path(name)
        return
    count = 0
    for state in _ready(name, project=project):
        if state.path.is_dir():
            found = {
                f"{state.source.name}/{path.relative_to(state.path).as_posix()}": path
                for path in sorted(state.path.rglob("*"))
            }
        else:
            found = {state.source.name: state.path}
        tables = [(called, path) for called, path in found.items() if Path(called).suffix in data.SUFFIXES]
        count += len(tables)
        yield from tables
    if not count:
        raise UsageError(f"{name} declares no table", expected=f"a file of {', '.join(data.SUFFIXES)}")


def shown(name: str, *, project: Project) -> dict[str, data.Manifest]:
    """Table → manifest, of a file or of all tables of a recipe."""
    return {
        called: data.manifest_of([path], form=data.form_of(Path(called)), names=[called])
        for called, path in tables_of(name, project=project)
    }


def compared(before: str, after: str, *, key: Sequence[str], project: Project) -> data.RowDiff:
    """The rows that differ between two tables: files, ``RECIPE:NAME``, or ``sha256:…:FORM`` of the cache.

    Raises:
        UsageError: One is no table.
    """
    (left, form), (right, other) = _table(before, project=project), _table(after, project=project)
    return data.diff_rows(left, right, key=key, forms=(form, other))


def shared_rows(references: Sequence[str], *, key: Sequence[str], project: Project) -> data.Overlaps:
    """Which rows stand in more than one of several tables.

    Raises:
        UsageError: There are not two, or one is no table.
    """
    if len(set(references)) < 2:
        raise UsageError("there is nothing to hold a table against", expected="two tables or more")
    found = {one: _table(one, project=project) for one in references}
    tables = {one: path for one, (path, _) in found.items()}
    return data.overlaps(tables, key=key, forms={one: form for one, (_, form) in found.items()})


def split_into(
    path: Path, folder: Path, shares: Mapping[str, float], *, key: Sequence[str], stratify: str, salt: str
) -> dict[str, Any]:
    """Write the parts of a table into a folder, and ``split.json``, which says how they were made, last.

    Raises:
        UsageError: The folder is not empty, or the table cannot be split so.
    """
    _must_be_empty(folder)
    form = data.form_of(path)
    parts = data.split(path, shares, key=key, stratify=stratify, salt=salt)
    columns = next((list(row.values) for part in parts for row in part.rows), [])
    made = {}
    for part in parts:
        if form in data.COLUMNAR:
            content = data.taken(path, form, [row.line - 1 for row in part.rows])
        else:
            content = data.table_bytes(part.rows, form=form, columns=columns)
        workspace.write_atomic(folder / f"{part.name}.{form}", content)
        made[part.name] = {
            "file": f"{part.name}.{form}",
            "rows": len(part.rows),
            "share": shares[part.name],
            "sha256": digest_bytes(content),
        }
    record = {
        "schema": SCHEMA_VERSION,
        "of": workspace.sha256_of(path),
        "key": list(key),
        "stratify": stratify or None,
        "salt": salt,
        "parts": made,
    }
    workspace.write_json(folder / "split.json", record)
    return record


def exported(name: str, folder: Path, *, project: Project) -> dict[str, Any]:
    """Copy all data of a recipe into an empty folder, with a ``manifest.json`` of digests, written last.

    Raises:
        UsageError: The folder is not empty, or the recipe declares no data by name.
        DataError: Something is not in the cache as declared.
    """
    states = _ready(name, project=project)
    _must_be_empty(folder)
    files: dict[str, Any] = {}
    for state in states:
        target = folder / state.source.name
        try:
            shutil.copytree(state.path, target) if state.path.is_dir() else shutil.copyfile(
                state.path, target
            )
        except OSError as error:
            raise workspace.cannot_write(target, error) from error
        copies = (
            [path for path in sorted(target.rglob("*")) if path.is_file()] if target.is_dir() else [target]
        )
        for path in copies:
            called = path.relative_to(folder).as_posix()
            files[called] = {"sha256": workspace.sha256_of(path), "bytes": path.stat().st_size}
    record = {
        "schema": SCHEMA_VERSION,
        "recipe": name,
        "data": {state.source.name: state.source.sha256 for state in states},
        "files": files,
    }
    workspace.write_json(folder / "manifest.json", record)
    return record


def _ready(name: str, *, project: Project) -> list[data.State]:
    found = [state for _, state in verified([name], project=project)]
    if not found:
        raise UsageError(f"{name} declares no data by name", where=name)
    for state in found:
        if state.status is not data.Status.READY:
            what = f"the data {state.source.name} is not as declared: {state.problem}"
            verb = "prepare" if state.source.prepared_by else "fetch"
            raise DataError(what, where=state.source.where, fix=f"reprokit data {verb} {name}")
    return found


def _table(reference: str, *, project: Project) -> tuple[Path, str]:
    """The file and the format of a table that a person named."""
    if Path(reference).exists():
        return Path(reference), data.form_of(Path(reference))
    if found := re.fullmatch(r"sha256:([0-9a-f]{64}):(csv|tsv|jsonl|parquet|arrow)", reference):
        path = cache_folder(None) / "data" / found[1]
        if not path.is_file() or workspace.sha256_of(path) != f"sha256:{found[1]}":
            raise UsageError("the cache has no such file, or it was changed there", where=reference)
        return path, found[2]
    recipe, _, name = reference.partition(":")
    known = dict(tables_of(recipe, project=project)) if name else {}
    if name not in known:
        raise UsageError(
            "there is no such table",
            where=reference,
            expected="a file, RECIPE:NAME, or sha256:<64 hex digits>:csv of the cache",
        )
    return known[name], data.form_of(Path(name))


def _must_be_empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError("the folder is not empty", where=str(folder), fix="name a new one")
    except OSError as error:
        raise workspace.cannot_write(folder, error) from error


def is_offline() -> bool:
    """Whether the environment says that no network is to be used."""
    return os.environ.get(OFFLINE, "0") not in {"", "0"}
