"""Writes some rows of a table as a table of the same kind: a file, or of images and documents a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reprokit import workspace
from reprokit.data import columnar, hdf5, images, texts, tokens
from reprokit.data.folders import each_file
from reprokit.data.tables import DataRow, kind_of, table_bytes


def write_part(
    path: Path, form: str, found: Sequence[DataRow], folder: Path, *, name: str, columns: Sequence[str]
) -> Path:
    """Write rows of a table into a folder; the file or folder that holds them.

    Args:
        path: The table.
        form: How it is read.
        found: Rows of it, in its order.
        folder: Where to.
        name: What the part is called, without an ending.
        columns: The header where there is no row.

    Raises:
        UsageError: It is no such table any more.
        OSError: The folder cannot be written.
    """
    kind = kind_of(form)
    if kind == images.FORM or (kind == texts.DOCUMENTS and found and "file" in found[0].values):
        return _folder(path, {str(row.values["file"]) for row in found}, folder / name)
    if kind == tokens.FORM:
        target = folder / f"{name}{'.npy' if tokens.is_npy(path) else '.bin'}"
        tokens.write_rows(path, form, [row.line - 1 for row in found], target)
        return target
    if kind in {texts.LINES, texts.DOCUMENTS}:
        end = "\n" if kind == texts.LINES else "\n\n"
        target, content = folder / f"{name}.txt", "".join(f"{row.values['text']}{end}" for row in found)
        workspace.write_atomic(target, content.encode())
        return target
    target = folder / f"{name}.{kind}"
    if kind in columnar.FORMS:
        workspace.write_atomic(target, columnar.taken(path, form, [row.line - 1 for row in found]))
    elif kind == hdf5.FORM:
        workspace.write_atomic(target, hdf5.taken(path, form, [row.line - 1 for row in found]))
    else:
        workspace.write_atomic(target, table_bytes(found, form=kind, columns=columns))
    return target


def _folder(place: Path, names: set[str], target: Path) -> Path:
    target.mkdir()

    def add(name: str, content: bytes) -> None:
        if name in names:
            file = target / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    each_file(place, add)
    return target
