"""The data that a recipe declares by name: found in the cache, checked, and shown to its runs read-only.

Nothing is fetched here: a run uses what `reprokit data fetch` brought. All is read and compared with its
digest before the runs start, and what changed while they ran is found afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from reprokit import data, file_tree
from reprokit.core.records import Mount, Outcome, RunResult
from reprokit.errors import DataError
from reprokit.images.cache import cache_folder
from reprokit.recipes import Recipe

#: The folder of all data, as commands name it: ``{data}``.
FOLDER = "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedData:
    """One file or unpacked folder that runs read, as it was when it was checked.

    Attributes:
        sha256: Of the file as it was fetched.
        contents: What a trainer compares it with: the same, or the digest of an unpacked folder.
    """

    name: str
    sha256: str
    contents: str
    path: Path
    signature: tuple[tuple[str, int, int, int, int], ...]


def sources_of(recipe: Recipe) -> tuple[data.DataSource, ...]:
    """What a recipe declares by name; nothing where it declares files next to recipe.yaml, or none."""
    if not isinstance(recipe.data, Mapping):
        return ()
    return tuple(
        data.DataSource.of_entry(
            name, entry, project=recipe.project_dir, where=recipe.where(f"data.{name}.sha256")
        )
        for name, entry in recipe.data.items()
    )


def fetched(recipe: Recipe) -> tuple[FetchedData, ...]:
    """Everything that a recipe declares by name, found in the cache and unchanged.

    Raises:
        DataError: Something is not there, or is not as declared.
    """
    sources = sources_of(recipe)
    cache = cache_folder(None) if sources else Path()
    return tuple(_fetched(recipe, source, cache=cache) for source in sources)


def mounts_of(found: Iterable[FetchedData]) -> tuple[Mount, ...]:
    """Each read-only at ``{data}/<name>``."""
    return tuple(Mount(name=one.name, path=str(one.path), folder=FOLDER) for one in found)


class Digested(Protocol):
    """Anything with a name and a digest."""

    @property
    def name(self) -> str: ...
    @property
    def sha256(self) -> str: ...


def recorded(found: Iterable[Digested]) -> dict[str, Any]:
    """What ``run.json`` says of it."""
    digests = {one.name: one.sha256 for one in found}
    return {"data": digests} if digests else {}


def shared_rows(recipe: Recipe, found: Iterable[FetchedData]) -> dict[str, Any]:
    """What ``run.json`` says of tables that must not share a row; {} where the recipe declares none.

    Raises:
        UsageError: One is no table, or lacks a column.
    """
    paths = {one.name: one.path for one in found}
    declared = {source.name: source.form for source in sources_of(recipe)}
    judged = []
    for said in recipe.plain.get("disjoint") or ():
        forms = {name: declared[name] or data.form_of(Path(name)) for name in said["files"]}
        tables = {name: paths[name] for name in said["files"]}
        shared = data.overlaps(tables, key=said["key"], forms=forms)
        judged.append({**said, **asdict(shared)})
    return {"disjoint": judged} if judged else {}


def unless_changed(result: RunResult, found: Iterable[FetchedData]) -> RunResult:
    """The result; never one that is judged where data was written to since it was checked."""
    changed = [one.name for one in found if not _is_unchanged(one)]
    if not changed or not result.is_judged:
        return result
    return replace(
        result,
        outcome=Outcome.MOUNTS_CHANGED,
        message=f"the data {', '.join(changed)} changed while the run was under way",
        remedy="have the program write to {run_dir} only, and put the data back: reprokit data fetch",
    )


def _fetched(recipe: Recipe, source: data.DataSource, *, cache: Path) -> FetchedData:
    place = data.place_of(source, cache=cache)
    before = data.signature(place) if place.exists() else ()
    state = data.check(source, cache=cache)
    if state.status is not data.SourceStatus.READY:
        is_missing = state.status is data.SourceStatus.MISSING
        raise DataError(
            f"the data {source.name} is {state.problem}"
            if is_missing
            else f"the data {source.name} was changed in the cache: {state.problem}",
            where=source.where,
            fix=f"reprokit data {'prepare' if source.prepared_by else 'fetch'} {recipe.name}",
        )
    # A command needs no digest of the folder: nothing inside its environment is told one.
    unpacked = source.unpack is not None and recipe.trainer is not None
    contents = file_tree.digest_of(state.path) if unpacked else source.sha256
    return FetchedData(
        name=source.name, sha256=source.sha256, contents=contents, path=state.path, signature=before
    )


def _is_unchanged(one: FetchedData) -> bool:
    try:
        return data.signature(one.path) == one.signature
    except OSError:
        return False
