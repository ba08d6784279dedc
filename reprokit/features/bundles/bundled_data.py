"""Data of a recipe in a bundle: which of it goes along, and how it gets into the cache of whoever opens it.

A file lies in the archive as ``data/<SHA-256>``, as it does in the cache. It goes along where the recipe
states its licence and there is room; all else is named by its digest. What comes out is compared with the
recipe.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import data, recipes
from reprokit.errors import BundleError, ReprokitError
from reprokit.features.bundles.writing import Packed
from reprokit.harness.running.environments.preparation import CODE, LAUNCHER, code_of
from reprokit.harness.running.environments.recipe_data import sources_of
from reprokit.images.cache import cache_folder
from reprokit.layout import SOURCE
from reprokit.recipes import PARTS, Recipe
from reprokit.workspace import sha256_of

FOLDER = "data"
#: Of all data of a bundle together, unless someone asks for more.
MOST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledData:
    """One file that a recipe declares by name.

    Attributes:
        source: Its declaration.
        path: Its copy in the cache, which goes along; None where it does not.
        why_not: Why it does not, or "".
    """

    source: data.DataSource
    path: Path | None
    why_not: str = ""

    @property
    def place(self) -> str:
        """Its name in the archive."""
        return f"{FOLDER}/{self.source.hex_digits}"


def chosen_data(recipe: Recipe, *, most_bytes: int) -> tuple[BundledData, ...]:
    """All data that a recipe declares by name, and which of it goes into a bundle.

    Args:
        recipe: The recipe.
        most_bytes: Of all of it together, in the order of the recipe; 0 for none.
    """
    sources = sources_of(recipe)
    cache = cache_folder(None) if sources else Path()
    found, left = [], most_bytes
    for source in sources:
        why_not = _why_not(source, left=left, most_bytes=most_bytes)
        plain = replace(source, unpack=None)
        state = None if why_not else data.check(plain, cache=cache)
        if state is not None and state.status is not data.SourceStatus.READY:
            why_not = f"{state.problem} on the machine that made the bundle"
        left -= 0 if why_not else source.num_bytes
        path = None if why_not or state is None else state.path
        found.append(BundledData(source=source, path=path, why_not=why_not))
    return tuple(found)


def packed(found: tuple[BundledData, ...]) -> dict[str, Packed]:
    """Name in the archive → file, of all that goes along."""
    return {one.place: Packed(content=one.path) for one in found if one.path is not None}


def steps_of(recipe: Recipe) -> dict[str, Packed]:
    """The code of the steps that prepare data, so that whoever opens the bundle can prepare it again."""
    if not recipe.plain.get("prepare"):
        return {}
    places = {f"{CODE}/": f"{SOURCE}/{recipe.name}/", f"recipes/{PARTS}/": f"{SOURCE}/{PARTS}/"}
    files = {}
    for name, content in code_of(recipe).items():
        if name != LAUNCHER:
            first = next(place for place in places if name.startswith(place))
            files[places[first] + name.removeprefix(first)] = Packed(content=content)
    return files


def named_where_code_holds_it(
    found: tuple[BundledData, ...], code: Mapping[str, Packed]
) -> tuple[BundledData, ...]:
    """The same, and of what does not go along as data, but does as a file of the program, its name there."""
    places = {one.sha256(): name for name, one in code.items()} if found else {}
    return tuple(
        replace(one, why_not=f"{one.why_not}. But git tracks it: {places[one.source.sha256]} has its bytes")
        if one.why_not and one.source.sha256 in places
        else one
        for one in found
    )


def not_to_be_passed_on(recipe: Recipe, recipes_dir: Path) -> dict[str, str]:
    """Digest → name, of all data that the recipe, or another one of its project, forbids to pass on.

    Another recipe that cannot be read declares nothing.
    """
    declared = [recipe]
    for name in recipes.list_names(recipes_dir):
        with contextlib.suppress(ReprokitError):
            declared.append(recipes.load(name, recipes_dir=recipes_dir))
    sources = (source for one in declared for source in sources_of(one))
    return {source.sha256: source.name for source in sources if not source.redistribute}


def must_be_declared(recipe: Recipe, folder: Path) -> None:
    """Compare the data of an unpacked bundle with its recipe.

    Raises:
        BundleError: A file is not what the recipe declares, or it declares no such file.
    """
    there = _files_of_data(folder)
    sources = {source.hex_digits: source for source in sources_of(recipe)}
    if unknown := sorted(there.keys() - sources.keys()):
        raise BundleError(
            "the bundle holds data that its recipe does not declare", where=f"{FOLDER}/{unknown[0]}"
        )
    for name, path in there.items():
        _must_be_declared(path, sources[name])


def put_into_cache(recipe: Recipe, folder: Path, *, on_progress: Callable[[str], None]) -> None:
    """Bring the data of an unpacked bundle, once compared with its recipe, into the cache of this machine.

    Args:
        recipe: The bundle's, which its golden names by its digest.
        folder: Where the bundle was unpacked.
        on_progress: Told what is brought.

    Raises:
        DataError: An archive among them must not be unpacked.
        WorkspaceError: The cache cannot be written, or the disk is full.
    """
    there = _files_of_data(folder)
    sources = [source for source in sources_of(recipe) if source.hex_digits in there]

    def tell(source: data.DataSource, _: int, what: str) -> None:
        if what:
            on_progress(f"the data {source.name}: {what}")

    for source in sources:
        brought = replace(source, places=(there[source.hex_digits].as_uri(),), prepared_by="")
        data.fetch(brought, cache=cache_folder(None), offline=True, on_progress=tell)
    for source in sources_of(recipe):
        if source.hex_digits not in there and not source.prepared_by:
            _own_copy(source, cache_folder(None), tell)


def _files_of_data(folder: Path) -> dict[str, Path]:
    place = folder / FOLDER
    return {path.name: path for path in sorted(place.iterdir())} if place.is_dir() else {}


def _own_copy(
    source: data.DataSource, cache: Path, tell: Callable[[data.DataSource, int, str], None]
) -> None:
    """Unpack the reviewer's own copy of what is not in the bundle; without one, say where it goes."""
    file = cache / "data" / source.hex_digits
    if not file.exists():
        tell(
            source,
            0,
            f"it is not in the bundle. Get the file from whoever may give it to you, and copy it to {file} "
            f"({source.sha256}, {source.num_bytes:,} bytes)",
        )
    elif data.glance(source, cache=cache).status is data.SourceStatus.MISSING:
        data.fetch(replace(source, places=()), cache=cache, offline=True, on_progress=tell)


def told(found: tuple[BundledData, ...]) -> Iterator[str]:
    """One sentence for each file that does not come with a bundle."""
    for one in found:
        if one.why_not:
            yield f"the data {one.source.name} ({one.source.sha256}): {one.why_not}"


def _why_not(source: data.DataSource, *, left: int, most_bytes: int) -> str:
    """Why a file does not go along whatever the cache holds, or ""."""
    if not most_bytes:
        return "no data was asked for"
    if not source.licence:
        return "the recipe states no licence under which it may be passed on"
    if not source.redistribute:
        return f"it must not be passed on (licence: {source.licence})"
    if source.num_bytes > left:
        return f"{source.num_bytes:,} bytes are more than the bundle has room for"
    return ""


def _must_be_declared(path: Path, source: data.DataSource) -> None:
    actual = sha256_of(path)
    if (actual, path.stat().st_size) != (source.sha256, source.num_bytes):
        raise BundleError(
            f"the data {source.name} in the bundle is not the file that its recipe declares",
            where=f"{FOLDER}/{path.name}",
            expected=f"{source.sha256}, {source.num_bytes:,} bytes",
            actual=f"{actual}, {path.stat().st_size:,} bytes",
            fix="get the bundle again from whoever made it",
        )
