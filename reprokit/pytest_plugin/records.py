r"""Metrics as a test has them → the bytes of a metrics file, the caller's data left as it is.

Arrays of any library are read by ``tolist()``. Every float keeps all its digits; a float32 becomes the
float64 of its value.

    >>> as_bytes({"loss": [0.5, 0.25]})
    (b'{"step": 0, "loss": 0.5}\n{"step": 1, "loss": 0.25}\n', '.jsonl')
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.errors import MetricsError
from reprokit.layout import METRICS

_FILES = (METRICS, "metrics.csv")
_MOST_TOLD = 200


def as_bytes(metrics: Sequence[Mapping[str, Any]] | Mapping[str, Any] | str | Path) -> tuple[bytes, str]:
    """A metrics file's content and the end of its name.

    Raises:
        MetricsError: There is nothing in it, columns are not of one length, or a value is nothing
            that JSON has.
    """
    if isinstance(metrics, str | Path):
        return _of_path(Path(metrics))
    if not isinstance(metrics, Mapping | Sequence):
        raise MetricsError(
            "neither records nor columns",
            actual=type(metrics).__name__,
            expected="a list of dicts, a dict of arrays, or a path",
        )
    records = _of_columns(metrics) if isinstance(metrics, Mapping) else metrics
    if not records:
        raise MetricsError("there is no record to check", fix="check what the training returned")
    return b"".join(_line(record, position) for position, record in enumerate(records)), ".jsonl"


def _of_path(path: Path) -> tuple[bytes, str]:
    found = next((path / name for name in _FILES if (path / name).is_file()), path) if path.is_dir() else path
    try:
        return found.read_bytes(), found.suffix
    except OSError as error:
        raise MetricsError(f"cannot read: {error.strerror or error}", where=str(found)) from error


def _of_columns(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    plain = {name: _listed(name, column) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in plain.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise MetricsError("the columns have different lengths", actual=found)
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def _listed(name: str, column: Any) -> list[Any]:
    plain = _python_value(column)
    if not isinstance(plain, list):
        raise MetricsError(
            f"the column {name!r} is not a list or array",
            actual=type(column).__name__,
            fix="check a list of dicts, or give each metric a list of its values",
        )
    return plain


def _line(record: Any, position: int) -> bytes:
    if not isinstance(record, Mapping):
        raise MetricsError(
            "a record is not a mapping", where=f"record {position}", actual=type(record).__name__
        )
    if not all(isinstance(name, str) for name in record):
        raise MetricsError(
            "a metric's name is not text", where=f"record {position}", actual=repr(list(record))
        )
    whole = {"step": record.get("step", position), **record}
    try:
        text = json.dumps({name: _python_value(value) for name, value in whole.items()}, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise MetricsError(
            f"a value cannot be written as JSON: {error}", where=f"record {position}"
        ) from error
    return f"{text}\n".encode()


def _python_value(value: Any) -> Any:
    """Numbers, text, lists and dicts of Python's own, copied."""
    if isinstance(value, Mapping):
        plain = {str(name): _python_value(item) for name, item in value.items()}
        if len(plain) < len(value):
            raise MetricsError(
                "two names of a mapping are the same text", actual=repr(list(value))[:_MOST_TOLD]
            )
        return plain
    if isinstance(value, str | bytes | bytearray):
        return value
    if callable(tolist := getattr(value, "tolist", None)):  # numpy, torch, jax: arrays and scalars
        return tolist()
    return [_python_value(item) for item in value] if isinstance(value, list | tuple | range) else value
