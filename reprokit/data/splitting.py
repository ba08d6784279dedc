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

from reprokit.data import tokens
from reprokit.data.comparing import ComparedColumns, comparable
from reprokit.data.tables import DataRow, form_of, kind_of, rows
from reprokit.errors import UsageError

_WHOLE = 1 << 53
_MOST_NAMED = 20
#: Forms that keep the same values: texts only, values with types, texts of a line or document.
_VALUES = ("csv tsv", "jsonl parquet arrow h5", "lines documents")


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
        salt: Another one gives another split.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlaps:
    """Rows that stand in more than one of several tables.

    Attributes:
        num_rows: How many were compared.
        num_duplicates: How many stand in an earlier table too.
        first: Up to 20 of them: table and line, and table and line of the earlier one.
    """

    num_rows: int
    num_duplicates: int
    first: tuple[tuple[str, int, str, int], ...]


def overlaps(
    tables: Mapping[str, Path], *, key: Sequence[str] = (), forms: Mapping[str, str] | None = None
) -> Overlaps:
    """Which rows stand in more than one table.

    Args:
        tables: What each is called → its file.
        key: Columns that identify a row; all where none is named.
        forms: Formats, of those that their names do not tell.

    Raises:
        UsageError: One is no such table or has no row, or no row of one could be a row of another: other
            columns or types of a column, or a format that keeps other values.
    """
    seen: dict[str, tuple[str, int]] = {}
    count, found = 0, []
    known = {name: (forms or {}).get(name) or form_of(path) for name, path in tables.items()}
    must_be_comparable(known)
    columns: list[ComparedColumns] = []
    for name, path in tables.items():
        columns.append(ComparedColumns(name, known[name], key))
        before = count
        for row in rows(path, form=known[name], columns=key):
            columns[-1].add(row)
            count += 1
            first, line = seen.setdefault(comparable(row, key, table=name), (name, row.line))
            if first != name:
                found.append((name, row.line, first, line))
        if count == before:
            raise UsageError("there is no row, so there is nothing to compare", where=name)
    for one, other in itertools.combinations(columns, 2):
        other.must_compare_to(one)
    return Overlaps(num_rows=count, num_duplicates=len(found), first=tuple(found[:_MOST_NAMED]))


def must_be_comparable(forms: Mapping[str, str]) -> None:
    """Refuse forms of which no two rows are ever equal: that none is shared would say nothing."""
    groups = {name: _comparable(form) for name, form in forms.items()}
    first, *others = groups
    for name in others:
        if groups[name] != groups[first]:
            raise UsageError(
                f"a row of {forms[name]} is never equal to one of {forms[first]}",
                where=f"{first}, {name}",
                fix="convert one of them: reprokit data export TABLE --output FILE",
            )


def _comparable(form: str) -> str:
    """The same text for forms whose rows can be equal."""
    kind = kind_of(form)
    if kind == tokens.FORM:
        return f"{kind}, {'/'.join(form.split('/')[2:]) or 'default'} a row"
    return next((group for group in _VALUES if kind in group.split()), kind)


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
