"""Reads Parquet and Arrow files as rows, by pyarrow, which is imported only where such a file is read."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.data.optional import imported
from reprokit.errors import UsageError

FORMS = ("parquet", "arrow")
_BATCH_ROWS = 10_000


def rows_of(path: Path, form: str) -> Iterator[Mapping[str, Any]]:
    """Each row as plain values, in the order of the file: what JSON has not is text.

    Raises:
        UsageError: pyarrow is not installed, this is no such file, or Python cannot hold a value.
    """
    arrow, count = _imported("pyarrow", path), 0
    try:
        for batch in _batches(path, form):
            if len(set(batch.schema.names)) < len(batch.schema.names):
                raise UsageError("the table names a column twice", where=str(path))
            for values in _values(batch, path, before=count):
                yield {name: plain(value) for name, value in values.items()}
            count += batch.num_rows
    except (arrow.ArrowException, OSError) as error:
        raise UsageError(f"not a file of the form {form}: {str(error)[:200]}", where=str(path)) from error


def taken(path: Path, form: str, indices: Sequence[int]) -> bytes:
    """Some rows of a file as a file of the same columns and types.

    Args:
        path: The file.
        form: ``parquet`` or ``arrow``, of both.
        indices: Which rows, counted from 0.

    Raises:
        UsageError: pyarrow is not installed, or this is no such file.
    """
    arrow = _imported("pyarrow", path)
    table = arrow_table(path, form)
    return file_bytes(table.take(arrow.array(indices, arrow.int64())), form, path=path)


def arrow_table(path: Path, form: str) -> Any:
    """A whole file as a ``pyarrow.Table``.

    Raises:
        UsageError: pyarrow is not installed, or this is no such file.
    """
    arrow, parquet = _imported("pyarrow", path), _imported("pyarrow.parquet", path)
    try:
        schema = parquet.read_schema(path) if form == "parquet" else _schema(path)
        return arrow.Table.from_batches(list(_batches(path, form)), schema=schema)
    except (arrow.ArrowException, OSError) as error:
        raise UsageError(f"not a file of the form {form}: {str(error)[:200]}", where=str(path)) from error


def file_bytes(table: Any, form: str, *, path: Path) -> bytes:
    """A ``pyarrow.Table`` as a Parquet or Arrow file; ``path`` is for the message."""
    parquet, ipc, out = _imported("pyarrow.parquet", path), _imported("pyarrow.ipc", path), io.BytesIO()
    if form == "parquet":
        parquet.write_table(table, out)
    else:
        with ipc.new_file(out, table.schema) as writer:
            writer.write_table(table.combine_chunks())
    return out.getvalue()


def plain(value: Any) -> Any:
    """A value as JSON has it: what JSON has not is text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, bytes):
        return f"bytes:{value.hex()}"
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _values(batch: Any, path: Path, *, before: int) -> list[dict[str, Any]]:
    """The rows of a batch, ``before`` of the file's rows before it; the first value that fails is named."""
    try:
        found: list[dict[str, Any]] = batch.to_pylist()
    except (ValueError, OverflowError) as error:
        raise _unheld(batch, path, before, error) from error
    return found


def _unheld(batch: Any, path: Path, before: int, whole: Exception) -> UsageError:
    """Which value of a batch Python cannot hold."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        for number, value in enumerate(column, start=before + 1):
            try:
                value.as_py()
            except (ValueError, OverflowError) as error:
                return UsageError(
                    f"{name!r} of row {number:,} is not a value that Python can hold: {str(error)[:200]}",
                    where=str(path),
                    expected="a time in the years 1 to 9999, in microseconds or coarser",
                    actual=str(value.type),
                    fix="write the column as whole numbers or texts",
                )
    return UsageError(f"a value cannot be read: {str(whole)[:200]}", where=str(path))


def _batches(path: Path, form: str) -> Iterator[Any]:
    if form == "parquet":
        with _imported("pyarrow.parquet", path).ParquetFile(path) as file:
            yield from file.iter_batches(_BATCH_ROWS)
        return
    ipc = _imported("pyarrow.ipc", path)
    with path.open("rb") as stream, ipc.open_file(stream) as file:
        for index in range(file.num_record_batches):
            yield file.get_batch(index)


def _schema(path: Path) -> Any:
    with path.open("rb") as stream, _imported("pyarrow.ipc", path).open_file(stream) as file:
        return file.schema


def _imported(name: str, path: Path) -> Any:
    return imported(name, package="pyarrow", path=path)
