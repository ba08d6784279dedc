"""Splits a table by the hash of each row's identity: a row stays in its part when others come, go or move.

>>> parts = split(Path("train.csv"), {"train": 0.8, "test": 0.2})
"""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.data.tables import DataRow, rows
from reprokit.errors import UsageError

_WHOLE = 1 << 53


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPart:
    """The rows of one part, in the order of the table."""

    name: str
    rows: tuple[DataRow, ...]


def split(
    path: Path,
    shares: Mapping[str, float],
    *,
    key: Sequence[str] = (),
    stratify: str = "",
    salt: str = "",
    form: str = "",
) -> list[SplitPart]:
    """The parts of a table.

    Args:
        path: The table.
        shares: Name → share of the rows; together 1.
        key: Columns that identify a row; where none is named, those of its form. Rows of one identity are in
            one part.
        stratify: A column whose values each part has in the same shares, as far as their numbers allow.
            The rows of each value are then taken in the order of their hashes, so a row near a border can
            change its part when rows are added; without it none ever does.
        salt: A different text gives a different split.
        form: The table's format; by its name where "".

    Raises:
        UsageError: The shares are not 1 together, or the file is no such table.
    """
    if not shares or any(share <= 0 for share in shares.values()) or abs(sum(shares.values()) - 1) > 1e-9:
        raise UsageError(
            "the shares of a split must be more than 0, and 1 together", expected="train=0.8 test=0.2"
        )
    found = list(rows(path, form=form, columns=[*key, *([stratify] if stratify else [])]))
    hashes = [_hash(row.thing(key), salt) for row in found]
    borders = list(itertools.accumulate(shares.values()))
    borders[-1] = 1.0
    if stratify:
        places = _stratified([str(row.values[stratify]) for row in found], hashes)
    else:
        places = [(value >> 11) / _WHOLE for value in hashes]  # so many bits as a float holds: always below 1
    names = list(shares)
    chosen = [
        names[next(index for index, border in enumerate(borders) if place < border)] for place in places
    ]
    _must_stay_together(found, hashes, chosen, path=path)
    return [
        SplitPart(name=name, rows=tuple(row for row, part in zip(found, chosen, strict=True) if part == name))
        for name in names
    ]


def _must_stay_together(
    found: Sequence[DataRow], hashes: Sequence[int], chosen: Sequence[str], *, path: Path
) -> None:
    """Refuse a split that puts two rows of one identity into two parts."""
    first: dict[int, int] = {}
    for index, value in enumerate(hashes):
        before = first.setdefault(value, index)
        if chosen[before] != chosen[index]:
            raise UsageError(
                f"one identity has two values of the column to stratify by, the other in line "
                f"{found[before].line}",
                where=f"{path}:{found[index].line}",
                fix="leave out --stratify, or name further columns with --key",
            )


def _hash(identity: str, salt: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{salt}\0{identity}".encode()).digest()[:8], "big")


def _stratified(values: Sequence[str], hashes: Sequence[int]) -> list[float]:
    """The place of each row among those of its value, from 0 to below 1; rows of one hash have one place."""
    groups: dict[str, list[int]] = defaultdict(list)
    for index, value in enumerate(values):
        groups[value].append(index)
    places = [0.0] * len(values)
    for group in groups.values():
        ordered = sorted(group, key=lambda index: hashes[index])
        for rank, index in enumerate(ordered):
            before = ordered[rank - 1] if rank else None
            same = before is not None and hashes[before] == hashes[index]
            places[index] = places[before] if same and before is not None else (rank + 0.5) / len(ordered)
    return places
