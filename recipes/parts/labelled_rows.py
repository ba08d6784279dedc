"""A table of numbers with a label in its last column, and how it is cut into parts.

    >>> rows = read_rows(run.data["digits.csv.gz"])
    >>> folds = stratified_folds(rows, num_folds=5)
    >>> training, held_out = folds != 0, folds == 0

Rows are known by their number in the file, from 0, a header not counted. Which fold a row is in follows from
its own values: no generator is drawn from, rows may come in any order, and equal rows are never in two folds.
"""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reprokit.errors import DataError

_GZIP = b"\x1f\x8b"


class Rows(NamedTuple):
    """Features, float32 [rows, columns], and labels, int64 [rows], which count from 0."""

    features: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


def read_rows(path: Path, *, header_rows: int = 0) -> Rows:
    """Read numbers separated by commas, compressed by gzip or not; the last column is the label.

    Args:
        path: The file.
        header_rows: Lines at its beginning that are no rows.

    Raises:
        DataError: It is no such table, or a label is not a whole number from 0 on.
    """
    content = path.read_bytes()
    text = gzip.decompress(content) if content.startswith(_GZIP) else content
    try:
        table = np.loadtxt(text.decode("utf-8").splitlines()[header_rows:], delimiter=",", ndmin=2)
    except ValueError as error:
        raise DataError(f"no table of numbers: {error}", where=str(path)) from error
    labels = table[:, -1].astype(np.int64)
    if table.shape[1] < 2 or (labels != table[:, -1]).any() or (labels < 0).any():
        raise DataError("the last column holds no labels", where=str(path), expected="0, 1, 2, …")
    return Rows(table[:, :-1].astype(np.float32), labels)


def row_digests(features: npt.NDArray[np.float32], *, salt: str = "") -> list[bytes]:
    """128 bits of BLAKE2b over each row's values; 0.0 and -0.0 are one value."""
    plain = np.ascontiguousarray(features + 0.0)  # -0.0 + 0.0 is 0.0
    return [hashlib.blake2b(row.tobytes(), digest_size=16, key=salt.encode()[:64]).digest() for row in plain]


def stratified_folds(rows: Rows, *, num_folds: int, salt: str = "") -> npt.NDArray[np.int64]:
    """The fold of each row, int64 [rows]: each class is dealt out in the order of its rows' digests.

    Args:
        rows: The table.
        num_folds: 2 or more; each holds as many rows of a class as any other, give or take one, and equal
            rows, which stay together.
        salt: Another one deals anew; up to 64 bytes.
    """
    folds = np.full(len(rows.labels), -1)
    members: dict[bytes, list[int]] = {}
    for number, digest in enumerate(row_digests(rows.features, salt=salt)):
        members.setdefault(digest, []).append(number)
    dealt: dict[int, int] = {}
    for digest in sorted(members):
        # Equal rows with other labels go where the smallest label goes: their order does not matter.
        label = int(rows.labels[members[digest]].min())
        folds[members[digest]] = dealt.get(label, label) % num_folds
        dealt[label] = dealt.get(label, label) + 1  # each class begins with another fold: sizes even out
    return folds
