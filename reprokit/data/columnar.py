"""Reads Parquet and Arrow files as rows, by pyarrow, which is imported only where such a file is read."""

from __future__ import annotations

import importlib
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.errors import UsageError

FORMS = ("parquet", "arrow")
_BATCH_ROWS = 10_000


def rows_of(path: Path, form: str) -> Iterator[Mapping[str, Any]]:
    """Each row as plain values, in the order of the file: what JSON has not is text.

    Raises:
        UsageError: pyarrow is not installed, or this is no such file.
    """
    arrow = _imported("pyarrow", path)
    try:
        for batch in _batches(path, form):
            if len(set(batch.schema.names)) < len(batch.schema.names):
                raise UsageError("the table names a column twice", where=str(path))
            for values in batch.to_pylist():
                yield {name: _plain(value) for name, value in values.items()}
    except (arrow.ArrowException, OSError) as error:
        raise UsageError(f"no {form} file: {str(error)[:200]}", where=str(path)) from error


def taken(path: Path, form: str, indices: Sequence[int]) -> bytes:
    """Some rows of a file as a file of the same columns and types.

    Args:
        path: The file.
        form: ``parquet`` or ``arrow``, of both.
        indices: Which rows, counted from 0.

    Raises:
        UsageError: pyarrow is not installed, or this is no such file.
    """
    arrow, parquet, ipc = (_imported(name, path) for name in ("pyarrow", "pyarrow.parquet", "pyarrow.ipc"))
    try:
        batches = list(_batches(path, form))
        schema = parquet.read_schema(path) if form == "parquet" else _schema(path)
        table = arrow.Table.from_batches(batches, schema=schema).take(arrow.array(indices, arrow.int64()))
        out = io.BytesIO()
        if form == "parquet":
            parquet.write_table(table, out)
        else:
            with ipc.new_file(out, table.schema) as writer:
                writer.write_table(table.combine_chunks())
    except (arrow.ArrowException, OSError) as error:
        raise UsageError(f"no {form} file: {str(error)[:200]}", where=str(path)) from error
    return out.getvalue()


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
    try:
        return importlib.import_module(name)
    except ImportError as error:
        fix = "pip install 'reprokit-verify[data]'"
        raise UsageError("pyarrow is not installed", where=str(path), fix=fix) from error


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, bytes):
        return f"bytes:{value.hex()}"
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
