"""HDF5 files as tables, by h5py: the data sets of one group are the columns.

The form is ``h5/GROUP``; ``h5`` alone stands for the one group that holds data sets. What lies in another
file (external and virtual data sets, soft and external links) is refused: no digest of this file covers it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from reprokit.data.columnar import plain
from reprokit.data.optional import imported
from reprokit.errors import UsageError

FORM = "h5"
SUFFIXES = (".h5", ".hdf5")
_BATCH_ROWS = 10_000


def groups_of(path: Path) -> list[str]:
    """The groups that hold data sets, without ``/`` at their ends; "" is the file itself.

    Raises:
        UsageError: h5py is not installed, this is no such file, or something in it lies elsewhere.
    """
    with _opened(path) as file:
        return list(_tables(file, path))


def rows_of(path: Path, form: str) -> Iterator[dict[str, Any]]:
    """Each row as plain values, in the order of the file.

    Raises:
        UsageError: h5py is not installed, this is no such file, or the group is no table.
    """
    with _opened(path) as file:
        columns = _columns(file, path, form)
        count = min((len(column) for column in columns.values()), default=0)
        for begin in range(0, count, _BATCH_ROWS):
            batch = {name: _texts(one)[begin : begin + _BATCH_ROWS] for name, one in columns.items()}
            for index in range(len(next(iter(batch.values())))):
                yield {name: plain(_value(one[index])) for name, one in batch.items()}


def arrays_of(path: Path, form: str) -> dict[str, Any]:
    """Column → array, [rows, …]; texts as arrays of ``str``.

    Raises:
        UsageError: As of ``rows_of``.
    """
    with _opened(path) as file:
        return {name: _texts(one)[()] for name, one in _columns(file, path, form).items()}


def taken(path: Path, form: str, indices: Sequence[int]) -> bytes:
    """Some rows, counted from 0, as a file with a table of the same columns and types in its root.

    Raises:
        UsageError: As of ``rows_of``.
    """
    chosen = {name: array[list(indices)] for name, array in arrays_of(path, form).items()}
    return file_bytes(chosen, path=path)


def file_bytes(columns: Mapping[str, Any], *, path: Path) -> bytes:
    """A file with one data set a column, of the same bytes for the same arrays.

    Raises:
        UsageError: h5py is not installed, or HDF5 has no such type of values.
    """
    h5py, out = imported("h5py", package="h5py", path=path), io.BytesIO()
    with h5py.File(out, "w", libver=("earliest", "v108"), track_order=True) as file:
        for name, array in columns.items():
            is_text = array.dtype.kind in "OU"
            try:
                if is_text:
                    file.create_dataset(name, data=array.astype(object), dtype=h5py.string_dtype())
                else:
                    file.create_dataset(name, data=array, track_times=False)
            except (TypeError, ValueError) as error:
                raise UsageError(f"HDF5 cannot hold the column {name}: {error}", where=str(path)) from error
    return out.getvalue()


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    h5py = imported("h5py", package="h5py", path=path)
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (OSError, RuntimeError, KeyError) as error:  # what h5py makes of a damaged file
        raise UsageError(f"not an HDF5 file: {str(error)[:200]}", where=str(path)) from error


def _tables(file: Any, path: Path) -> dict[str, dict[str, Any]]:
    """Group → its data sets, of every group that has any; each group once, however often it is linked."""
    h5py = imported("h5py", package="h5py", path=path)
    found: dict[str, dict[str, Any]] = {}
    waiting, seen = [file["/"]], set()
    while waiting:
        group = waiting.pop()
        address = h5py.h5o.get_info(group.id).addr
        if address in seen:
            continue
        seen.add(address)
        columns = {}
        for name in group:  # in the order of their making, where the file keeps it
            where = f"{path}: {group.name.rstrip('/')}/{name}"
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise UsageError("a link in an HDF5 file is not followed", where=where)
            one = group[name]
            if isinstance(one, h5py.Group):
                waiting.append(one)
            elif isinstance(one, h5py.Dataset):
                if one.is_virtual or one.external:
                    raise UsageError("a data set that lies in another file is not read", where=where)
                columns[name] = one
        if columns:
            found[group.name.strip("/")] = columns
    return dict(sorted(found.items()))


def _columns(file: Any, path: Path, form: str) -> dict[str, Any]:
    """The data sets of the group that a form names, all of one length."""
    tables, wanted = _tables(file, path), form.partition("/")[2].strip("/")
    if not wanted and len(tables) > 1:
        names = ", ".join(f"{path.name}::h5/{name}".rstrip("/") for name in tables)
        raise UsageError("the file holds several tables", where=str(path), expected=f"one of {names}")
    if (wanted or next(iter(tables), "")) not in tables:
        raise UsageError(
            f"the file has no data sets in /{wanted}",
            where=str(path),
            expected=", ".join(f"/{name}" for name in tables) or "a group with data sets",
        )
    columns = tables[wanted or next(iter(tables))]
    if odd := [name for name, one in columns.items() if one.ndim < 1 or one.dtype.names or _is_odd(one)]:
        raise UsageError(f"the data set {odd[0]} is not a column of plain values", where=str(path))
    lengths = {name: len(one) for name, one in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length:,}" for name, length in lengths.items())
        raise UsageError("the data sets of the group have different lengths", where=str(path), actual=told)
    return columns


def _is_odd(dataset: Any) -> bool:
    return dataset.dtype.kind not in "biufSO" or (dataset.dtype.kind == "O" and not _is_text(dataset))


def _is_text(dataset: Any) -> bool:
    h5py = imported("h5py", package="h5py", path=Path(dataset.file.filename))
    return h5py.check_string_dtype(dataset.dtype) is not None


def _texts(dataset: Any) -> Any:
    return dataset.asstr() if _is_text(dataset) else dataset


def _value(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
