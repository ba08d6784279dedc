"""Shards of tokens as a table: NumPy arrays in .npy files, or bare numbers of a declared type, by memory map.

The form is ``tokens/DTYPE/ROW``: ``tokens/uint16/64`` is a stream of 16-bit numbers cut into rows of 64. A
.npy file says its type itself; one of two dimensions has its rows already. Only one row
is in memory at a time.
"""

from __future__ import annotations

import hashlib
import json
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
_BLOCK_CHARACTERS = 1 << 20

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
            raise UsageError(f"no shard of tokens: {str(error)[:200]}", where=str(path)) from error
        name = self.tokens.dtype.name
        if name not in _DTYPES or declared not in {None, name} or self.tokens.ndim not in {1, 2}:
            expected = f"{declared or 'whole numbers'} in one or two dimensions"
            actual = f"{name} in {self.tokens.ndim}"
            raise UsageError("no shard of tokens", where=str(path), expected=expected, actual=actual)
        if self.tokens.ndim == 2 and row not in {None, self.tokens.shape[1]}:
            raise UsageError(
                "its rows have another length",
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
            _write_header(stream, shard.tokens.dtype, (total, *width))
        for number in numbers:
            stream.write(np.ascontiguousarray(shard[number]).tobytes())


def encode(text: Path, target: Path, vocabulary: Sequence[str] | None) -> tuple[str, ...]:
    """Write the characters of a text as tokens: a token is the place of a character in the vocabulary.

    Args:
        text: A file in UTF-8.
        target: ``.npy``, or ``.bin`` for bare numbers; uint16, or uint32 where the vocabulary needs it.
        vocabulary: The characters, each once; None for all that occur, sorted.

    Returns:
        The vocabulary.

    Raises:
        UsageError: The text is not UTF-8, or holds a character that the vocabulary has not.
        OSError: The target cannot be written.
    """
    count = 0
    found: set[str] = set()
    for block in _blocks(text):
        count += len(block)
        found.update(block)
    chosen = tuple(sorted(found) if vocabulary is None else vocabulary)
    if lacking := sorted(found - set(chosen)):
        raise UsageError(f"the vocabulary has no {lacking[0]!r}", where=str(text))
    dtype = np.dtype("<u2" if len(chosen) <= 1 << 16 else "<u4")
    places = np.zeros(max(map(ord, chosen), default=0) + 1, dtype)
    places[[ord(one) for one in chosen]] = np.arange(len(chosen))
    with target.open("xb") as stream:
        if target.suffix == ".npy":
            _write_header(stream, dtype, (count,))
        for block in _blocks(text):
            stream.write(places[np.frombuffer(block.encode("utf-32-le"), "<u4")].tobytes())
    return chosen


def decode(path: Path, form: str, target: Path, vocabulary: Sequence[str]) -> None:
    """Write tokens as the characters that they stand for.

    Raises:
        UsageError: It is no such file, or a token is beyond the vocabulary.
        OSError: The target cannot be written.
    """
    shard = Shard(path, form)
    with target.open("x", encoding="utf-8", newline="") as stream:
        for number in range(len(shard)):
            row = shard[number]
            if len(row) and not 0 <= int(row.min()) <= int(row.max()) < len(vocabulary):
                raise UsageError(
                    f"a token is beyond the vocabulary: {int(row.max())}",
                    where=f"{path}: row {number + 1}",
                    expected=f"0 to {len(vocabulary) - 1}",
                )
            stream.write("".join(vocabulary[one] for one in row.tolist()))


def read_vocabulary(path: Path) -> tuple[str, ...]:
    """A JSON list of single characters, each once: its places are the tokens.

    Raises:
        UsageError: It is something else.
    """
    try:
        said = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"the vocabulary cannot be read: {error}", where=str(path)) from error
    if (
        not isinstance(said, list)
        or not all(isinstance(one, str) and len(one) == 1 for one in said)
        or len(set(said)) < len(said)
    ):
        raise UsageError("no vocabulary", where=str(path), expected="a JSON list of characters, each once")
    return tuple(said)


def _declared(form: str, path: Path) -> tuple[str | None, int | None]:
    _, *said = form.split("/")
    dtype, row = (*said, None, None)[:2]
    if (dtype is not None and dtype not in _DTYPES) or (row is not None and not row.isdecimal()) or said[2:]:
        expected = f"tokens/DTYPE/ROW with one of {', '.join(_DTYPES)}"
        raise UsageError(f"no form: {form}", where=str(path), expected=expected)
    if row is not None and not int(row):
        raise UsageError("a row has at least one token", where=str(path), actual=form)
    return dtype, None if row is None else int(row)


def is_npy(path: Path) -> bool:
    """Whether a file begins as .npy files do, whatever it is called."""
    with path.open("rb") as stream:
        return stream.read(len(_MAGIC)) == _MAGIC


def _write_header(stream: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)


def _blocks(text: Path) -> Iterator[str]:
    try:
        with text.open(encoding="utf-8", newline="") as stream:
            while block := stream.read(_BLOCK_CHARACTERS):
                yield block
    except UnicodeDecodeError as error:
        raise UsageError("the text is not UTF-8", where=str(text)) from error
