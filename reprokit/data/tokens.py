"""Shards of tokens as a table: NumPy arrays in .npy files, or bare numbers of a declared type, by memory map.

The form is ``tokens/DTYPE/ROW``: ``tokens/uint16/64`` is a stream of 16-bit numbers cut into rows of 64. A
.npy file says its type itself; one of two dimensions has its rows already. Only one row
is in memory at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reprokit.errors import UsageError

FORM = "tokens"
_MAGIC = b"\x93NUMPY"
_DTYPES = ("uint8", "uint16", "uint32", "int8", "int16", "int32", "int64")
_ROW = 1024

Tokens = npt.NDArray[np.integer[Any]]


class Shard:
    """A file of tokens, mapped into memory and never read as a whole.

    Raises:
        UsageError: It is no such file, or its type is not what the form declares.
    """

    def __init__(self, path: Path, form: str) -> None:
        self.is_npy, (declared, row) = is_npy(path), _declared(form, path)
        try:
            if self.is_npy:
                self.tokens: Tokens = np.load(path, mmap_mode="r", allow_pickle=False)
            elif declared is None:
                expected = "::tokens/DTYPE after its name, such as ::tokens/uint16"
                raise UsageError(
                    "nothing says how its numbers are stored", where=str(path), expected=expected
                )
            else:
                self.tokens = np.memmap(path, dtype=np.dtype(declared).newbyteorder("<"), mode="r")
        except ValueError as error:
            raise UsageError(f"not a shard of tokens: {str(error)[:200]}", where=str(path)) from error
        name = self.tokens.dtype.name
        if name not in _DTYPES or declared not in {None, name} or self.tokens.ndim not in {1, 2}:
            expected = f"{declared or 'whole numbers'} in one or two dimensions"
            actual = f"{name} in {self.tokens.ndim}"
            raise UsageError("not a shard of tokens", where=str(path), expected=expected, actual=actual)
        if self.tokens.ndim == 2 and row not in {None, self.tokens.shape[1]}:
            raise UsageError(
                "its rows have a different length",
                where=str(path),
                expected=str(row),
                actual=str(self.tokens.shape[1]),
            )
        self.row = row or _ROW

    def __len__(self) -> int:
        return len(self.tokens) if self.tokens.ndim == 2 else -(-len(self.tokens) // self.row)

    def __getitem__(self, number: int) -> Tokens:
        """A row, from 0; the last one of a stream may be shorter."""
        if self.tokens.ndim == 2:
            row: Tokens = self.tokens[number]
            return row
        return self.tokens[number * self.row : (number + 1) * self.row]


def rows_of(path: Path, form: str) -> Iterator[dict[str, Any]]:
    """A row: ``length``, ``smallest``, ``largest``, and in ``tokens`` a SHA-256 of them as 64-bit numbers.

    Raises:
        UsageError: It is no such file.
    """
    shard = Shard(path, form)
    for number in range(len(shard)):
        row = np.ascontiguousarray(shard[number], dtype="<i8")
        empty = not len(row)
        yield {
            "length": len(row),
            "smallest": None if empty else int(row.min()),
            "largest": None if empty else int(row.max()),
            "tokens": hashlib.sha256(row.tobytes()).hexdigest(),
        }


class Bounds:
    """How many tokens there are, and which numbers: a vocabulary must be larger than ``largest``."""

    def __init__(self) -> None:
        self._count = 0
        self._seen: list[int] = []

    def add(self, values: Mapping[str, Any]) -> None:
        self._count += values["length"]
        if values["length"]:
            ends = [*self._seen, values["smallest"], values["largest"]]
            self._seen = [min(ends), max(ends)]

    def as_data(self) -> dict[str, Any]:
        smallest, largest = self._seen or (None, None)
        return {"tokens": self._count, "smallest": smallest, "largest": largest}


def write_rows(path: Path, form: str, numbers: Sequence[int], target: Path) -> None:
    """Write some rows, counted from 0, as a file of the same kind and type, one row in memory at a time.

    Raises:
        UsageError: It is no such file.
        OSError: The target cannot be written.
    """
    shard = Shard(path, form)
    with target.open("xb") as stream:
        if shard.is_npy:
            width = shard.tokens.shape[1:]
            total = len(numbers) if width else sum(len(shard[number]) for number in numbers)
            write_header(stream, shard.tokens.dtype, (total, *width))
        for number in numbers:
            stream.write(np.ascontiguousarray(shard[number]).tobytes())


def _declared(form: str, path: Path) -> tuple[str | None, int | None]:
    _, *said = form.split("/")
    dtype, row = (*said, None, None)[:2]
    if (dtype is not None and dtype not in _DTYPES) or (row is not None and not row.isdecimal()) or said[2:]:
        expected = f"tokens/DTYPE/ROW with one of {', '.join(_DTYPES)}"
        raise UsageError(f"not a known form: {form}", where=str(path), expected=expected)
    if row is not None and not int(row):
        raise UsageError("a row has at least one token", where=str(path), actual=form)
    return dtype, None if row is None else int(row)


def is_npy(path: Path) -> bool:
    """Whether a file begins as .npy files do, whatever it is called."""
    with path.open("rb") as stream:
        return stream.read(len(_MAGIC)) == _MAGIC


def write_header(stream: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Write how a .npy file begins."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
