"""A table in another format: CSV, TSV, JSON Lines, Parquet, Arrow, HDF5; every row compared with the first.

A column of a CSV file becomes numbers only where each of its texts is exactly what its number is written as;
so ``007`` and ``1.50`` stay texts, and the way back gives the same file.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reprokit.data import columnar, hdf5
from reprokit.data.optional import imported
from reprokit.data.tables import DataRow, columns_of, kind_of, rows, table_bytes
from reprokit.errors import UsageError

#: What a table can be converted from and to.
KINDS = ("csv", "tsv", "jsonl", *columnar.FORMS, hdf5.FORM)
_TEXT = ("csv", "tsv")


def converted(path: Path, form: str, target: str) -> bytes:
    """The rows of a table as a file of another format.

    Args:
        path: The table.
        form: Its format.
        target: One of ``KINDS``.

    Raises:
        UsageError: It is no such table, a library is not installed, or the other format cannot hold a row.
    """
    if kind_of(form) not in KINDS or target not in KINDS:
        raise UsageError(f"{form} is not converted to {target}", where=str(path), expected=", ".join(KINDS))
    if target in {*_TEXT, "jsonl"}:
        found = list(rows(path, form=form))
        if target in _TEXT:
            _must_be_flat(found, path)
        header = list(found[0].values) if found else columns_of(path, form)
        content = table_bytes(found, form=target, columns=header)
    elif target == hdf5.FORM:
        content = hdf5.file_bytes(_arrays(path, form), path=path)
    else:
        content = columnar.file_bytes(_table(path, form), target, path=path)
    _must_be_the_same(path, form, content, target)
    return content


def _table(path: Path, form: str) -> Any:
    """A table as a ``pyarrow.Table``."""
    arrow, kind = imported("pyarrow", package="pyarrow", path=path), kind_of(form)
    if kind in columnar.FORMS:
        return columnar.arrow_table(path, form)
    try:
        if kind == "jsonl":
            return arrow.Table.from_pylist([dict(row.values) for row in rows(path, form=form)])
        columns = hdf5.arrays_of(path, form) if kind == hdf5.FORM else _typed(path, form)
        return arrow.table({name: _column(arrow, one) for name, one in columns.items()})
    except arrow.ArrowException as error:
        raise UsageError(f"a column has values of several kinds: {error}", where=str(path)) from error


def _arrays(path: Path, form: str) -> dict[str, Any]:
    """A table as column → array; a missing value, which HDF5 has not, refuses it."""
    if kind_of(form) in _TEXT:
        return _typed(path, form)
    if kind_of(form) == hdf5.FORM:
        return hdf5.arrays_of(path, form)
    table, found = _table(path, form), {}
    for name in table.column_names:
        column = table.column(name)
        if column.null_count:
            raise UsageError(f"HDF5 has no missing values, and {name} has some", where=str(path))
        values = column.to_pylist()
        nested = values and isinstance(values[0], list)
        try:
            if nested:
                kind = column.type.value_type
                while hasattr(kind, "value_type"):
                    kind = kind.value_type
                found[name] = np.array(values, dtype=kind.to_pandas_dtype())
            else:
                found[name] = column.to_numpy() if values else np.array([], column.type.to_pandas_dtype())
        except (ValueError, TypeError, NotImplementedError) as error:
            raise UsageError(f"HDF5 cannot hold the column {name}: {error}", where=str(path)) from error
    return found


def _typed(path: Path, form: str) -> dict[str, Any]:
    """The columns of a CSV or TSV file as whole numbers, numbers or texts."""
    found = list(rows(path, form=form))
    names = list(found[0].values) if found else []
    return {name: _numbers_or_texts([row.values[name] for row in found]) for name in names}


def _numbers_or_texts(values: Sequence[str]) -> Any:
    for kind in (int, float):
        try:
            numbers = [kind(value) for value in values]
            if all(str(number) == value for number, value in zip(numbers, values, strict=True)):
                return np.array(numbers, dtype=np.int64 if kind is int else np.float64)
        except (ValueError, OverflowError):
            continue
    return np.array(values, dtype=object)


def _column(arrow: Any, array: Any) -> Any:
    if array.ndim == 1:
        return arrow.array(array.tolist() if array.dtype.kind in "OUS" else array)
    inner = _column(arrow, array.reshape(-1, *array.shape[2:]))
    return arrow.FixedSizeListArray.from_arrays(inner, array.shape[1])


def _must_be_flat(found: Sequence[DataRow], path: Path) -> None:
    """Refuse what a CSV file cannot say: lists, rows of other columns, an empty text by a missing one."""
    header = list(found[0].values) if found else []
    missing: set[str] = set()
    empty: set[str] = set()
    for row in found:
        if list(row.values) != header:
            raise UsageError("the rows have several sets of columns", where=f"{path}:{row.line}")
        for name, value in row.values.items():
            if isinstance(value, list | dict):
                fix = "convert it to jsonl, parquet or h5"
                raise UsageError(f"a CSV file has no lists: {name}", where=f"{path}:{row.line}", fix=fix)
            missing |= {name} if value is None else set()
            empty |= {name} if value == "" else set()
    if both := sorted(missing & empty):
        raise UsageError(
            f"a CSV file cannot tell missing and empty values of {both[0]} apart", where=str(path)
        )


def _must_be_the_same(path: Path, form: str, content: bytes, target: str) -> None:
    """Refuse to hand out a file that does not say what the first one says, row by row."""
    loose = target in _TEXT or kind_of(form) in _TEXT
    with tempfile.TemporaryDirectory(prefix="reprokit-table-") as folder:
        made = Path(folder) / f"made.{target}"
        made.write_bytes(content)
        pairs = itertools.zip_longest(_plain(path, form, loose=loose), _plain(made, target, loose=loose))
        for number, (before, after) in enumerate(pairs, start=1):
            if before != after:
                raise UsageError(
                    f"row {number} would not be the same as {target}",
                    where=str(path),
                    expected=str(before)[:200],
                    actual=str(after)[:200],
                )


def _plain(path: Path, form: str, *, loose: bool) -> Iterator[Mapping[str, Any]]:
    for row in rows(path, form=form):
        yield {name: _as_text(value) if loose else _kept(value) for name, value in row.values.items()}


def _as_text(value: Any) -> str:
    """As a CSV file has it."""
    return "" if value is None else str(value)


def _kept(value: Any) -> Any:
    """A value with its type, so that 1, 1.0 and true are three."""
    if isinstance(value, list):
        return [_kept(one) for one in value]
    return (type(value).__name__, value)
