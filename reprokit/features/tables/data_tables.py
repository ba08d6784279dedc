"""`reprokit data`: tables, of files or of what recipes declare, described, compared, split and converted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit import workspace
from reprokit.core.records import SCHEMA_VERSION
from reprokit.data import SourceState
from reprokit.data.folders import digest_and_size
from reprokit.data.hdf5 import FORM as HDF5
from reprokit.data.hdf5 import groups_of
from reprokit.data.overlaps import Overlaps, overlaps
from reprokit.data.tables import SUFFIXES, columns_of, form_of, kind_of
from reprokit.data.texts import LINES
from reprokit.data.tokens import FORM as TOKENS
from reprokit.errors import UsageError
from reprokit.features.tables.conversion import converted as table_converted
from reprokit.features.tables.manifest import DataManifest, manifest_of
from reprokit.features.tables.parts import write_part
from reprokit.features.tables.row_diff import RowDiff, diff_rows
from reprokit.features.tables.splitting import split
from reprokit.features.tables.vocabulary import decode, encode, read_vocabulary
from reprokit.harness.datasets import filling, ready
from reprokit.images.cache import cache_folder
from reprokit.layout import RECIPE
from reprokit.project import Project


def tables_of(name: str, *, project: Project) -> Iterator[tuple[str, Path, str]]:
    """What a table is called, where it is and its form: of a file or folder, or of all tables of a recipe.

    A form is named behind the place: ``train.bin::tokens/uint16``.

    Raises:
        DataError: Data of the recipe is not in the cache as declared.
        UsageError: There is no table of that name.
    """
    place, _, form = name.partition("::")
    path = Path(place)
    is_folder = path.is_dir() and not (project.recipes_dir / name / RECIPE).is_file()
    if form or path.suffix or "/" in place or is_folder:
        if not path.exists():
            raise UsageError("there is no such file or folder", where=place)
        yield from _expanded(path.name, path, form or form_of(path))
        return
    count = 0
    for state in ready(name, project=project):
        for called, found, its_form in _declared_tables(state):
            count += 1
            yield from _expanded(called, found, its_form)
    if not count:
        expected = f"a file of {', '.join(SUFFIXES)}, or a `form` in the recipe"
        raise UsageError(f"{name} declares no table", expected=expected)


def _declared_tables(state: SourceState) -> Iterator[tuple[str, Path, str]]:
    """What of a recipe's data is a table: by its ``form``, else by the ends of names."""
    name = state.source.name
    if state.source.form:
        yield name, state.path, state.source.form
        return
    found = {name: state.path}
    if state.path.is_dir():
        below = sorted(state.path.rglob("*"))
        found = {f"{name}/{path.relative_to(state.path).as_posix()}": path for path in below}
    for called, path in found.items():
        if Path(called.removesuffix(".gz")).suffix in SUFFIXES:
            yield called, path, form_of(Path(called))


def _expanded(called: str, path: Path, form: str) -> Iterator[tuple[str, Path, str]]:
    """A table; each of its own of an HDF5 file with several."""
    groups = groups_of(path) if form == HDF5 else []
    if len(groups) < 2:
        yield called, path, form
        return
    yield from ((f"{called}::{form}/{group}", path, f"{form}/{group}") for group in groups)


def shown(name: str, *, project: Project) -> dict[str, DataManifest]:
    """Table → manifest, of a file or of all tables of a recipe."""
    return {
        called: manifest_of([path], form=form, names=[called])
        for called, path, form in tables_of(name, project=project)
    }


def compared(before: str, after: str, *, key: Sequence[str], project: Project) -> RowDiff:
    """The rows that differ between two tables: places, ``RECIPE:NAME``, or ``sha256:…:FORM`` of the cache.

    Raises:
        UsageError: One is no table.
    """
    (left, form), (right, other) = _table(before, project=project), _table(after, project=project)
    return diff_rows(left, right, key=key, forms=(form, other))


def shared_rows(references: Sequence[str], *, key: Sequence[str], project: Project) -> Overlaps:
    """Which rows stand in more than one of several tables.

    Raises:
        UsageError: There are not two, or one is no table.
    """
    if len(set(references)) < 2:
        raise UsageError("there is nothing to compare a table with", expected="two tables or more")
    found = {reference: _table(reference, project=project) for reference in references}
    tables = {one: path for one, (path, _) in found.items()}
    return overlaps(tables, key=key, forms={one: form for one, (_, form) in found.items()})


def split_into(
    reference: str | Path,
    folder: Path,
    shares: Mapping[str, float],
    *,
    key: Sequence[str],
    stratify: str,
    salt: str,
    project: Project | None = None,
) -> dict[str, Any]:
    """Write the parts of a table into a folder, and ``split.json``, which says how they were made, last.

    Raises:
        UsageError: The folder is not empty, or the table cannot be split so.
        WorkspaceError: The folder cannot be written, or the disk is full.
    """
    path, form = _table(str(reference), project=project or Project.around(Path.cwd()))
    parts = split(path, shares, key=key, stratify=stratify, salt=salt, form=form)
    columns = next((list(row.values) for part in parts for row in part.rows), None)
    columns = columns_of(path, form) if columns is None else columns
    made = {}
    with filling(folder):
        for part in parts:
            written = write_part(path, form, part.rows, folder, name=part.name, columns=columns)
            made[part.name] = {
                "file": written.name,
                "rows": len(part.rows),
                "share": shares[part.name],
                "sha256": digest_and_size(written)["sha256"],
            }
        record = {
            "schema": SCHEMA_VERSION,
            "of": digest_and_size(path)["sha256"],
            "key": list(key),
            "stratify": stratify or None,
            "salt": salt,
            "parts": made,
        }
        workspace.write_json(folder / "split.json", record)
    return record


def is_table(output: Path) -> bool:
    """Whether a name says that a table is to be written, not a folder."""
    return output.suffix in {*SUFFIXES, ".h5", ".npy", ".bin", ".txt"}


def converted(reference: str, output: Path, *, vocabulary: Path | None, project: Project) -> dict[str, Any]:
    """Write a table in another format; a text as tokens, or tokens as the text that they stand for.

    Returns:
        File → ``sha256`` and ``bytes`` of all that was written: next to tokens, the vocabulary that was made.

    Raises:
        UsageError: The output is there already, a row would not survive, or the vocabulary does not fit.
        WorkspaceError: The output cannot be written, or the disk is full.
    """
    path, form = _table(reference, project=project)
    if output.exists() or output.is_symlink():
        raise UsageError("there is such a file already", where=str(output), fix="name a new one")
    partial = output.with_name(f".{output.name}.partial{output.suffix}")
    made = [output]
    try:
        partial.unlink(missing_ok=True)
        if output.suffix in {".npy", ".bin"}:
            if kind_of(form) != LINES:
                raise UsageError("only a text becomes tokens", where=reference, expected=".txt, or ::lines")
            known = None if vocabulary is None else read_vocabulary(vocabulary)
            chosen = encode(path, partial, known)
            if vocabulary is None:
                made.append(output.with_name(f"{output.name}.vocabulary.json"))
                workspace.write_json(made[-1], list(chosen))
        elif output.suffix == ".txt":
            if vocabulary is None or kind_of(form) != TOKENS:
                raise UsageError("only tokens with a --vocabulary become a text", where=reference)
            decode(path, form, partial, read_vocabulary(vocabulary))
        else:
            partial.write_bytes(table_converted(path, form, output.suffix.removeprefix(".")))
        partial.replace(output)
    except OSError as error:
        raise workspace.cannot_write(output, error) from error
    finally:
        partial.unlink(missing_ok=True)
    return {one.name: digest_and_size(one) for one in made}


def _table(reference: str, *, project: Project) -> tuple[Path, str]:
    """The place and the form of a table that a person named."""
    place, _, form = reference.partition("::")
    if Path(place).exists():
        return Path(place), form or form_of(Path(place))
    if found := re.fullmatch(r"sha256:([0-9a-f]{64}):(csv|tsv|jsonl|parquet|arrow)", place):
        path = cache_folder(None) / "data" / found[1]
        if not path.is_file() or workspace.sha256_of(path) != f"sha256:{found[1]}":
            raise UsageError("the cache has no such file, or it was changed there", where=reference)
        return path, form or found[2]
    recipe, _, name = place.partition(":")
    known = {}
    if name:
        known = {
            state.source.name: (state.path, state.source.form) for state in ready(recipe, project=project)
        }
        if name not in known:
            known = {called: (path, its) for called, path, its in tables_of(recipe, project=project)}
    if name not in known:
        raise UsageError(
            "there is no such table",
            where=reference,
            expected="a file or folder, RECIPE:NAME, or sha256:<64 hex digits>:csv of the cache",
        )
    path, declared = known[name]
    return path, form or declared or form_of(Path(name))
