"""Which rows of a table came, went or changed between two versions; their order does not matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.data.overlaps import must_be_comparable
from reprokit.data.tables import DataRow, form_of, kind_of, rows
from reprokit.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRow:
    """A row of the same key with other values: column → (before, after)."""

    key: dict[str, Any]
    line_before: int
    line_after: int
    columns: dict[str, tuple[Any, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDiff:
    """The difference; without a key a changed row is one that went and one that came."""

    num_before: int
    num_after: int
    came: tuple[DataRow, ...]
    went: tuple[DataRow, ...]
    changed: tuple[ChangedRow, ...]
    is_reordered: bool

    @property
    def same_rows(self) -> bool:
        return not (self.came or self.went or self.changed)


def diff_rows(
    before: Path, after: Path, *, key: Sequence[str] = (), forms: tuple[str, str] = ("", "")
) -> RowDiff:
    """Compare two tables row by row.

    Args:
        before: The first table.
        after: The second.
        key: Columns that identify a row in both; none where only whole rows are compared.
        forms: The format of each; by its name where "".

    Raises:
        UsageError: One is no table, a key stands for two of its rows, or no row of one could be one of the
            other, whose format keeps other values.
    """
    kinds = [kind_of(form or form_of(one)) for one, form in zip((before, after), forms, strict=True)]
    must_be_comparable({str(one): kind for one, kind in zip((before, after), kinds, strict=True)})
    old = list(rows(before, form=forms[0], columns=key))
    new = list(rows(after, form=forms[1], columns=key))
    left, right = [row.identity() for row in old], [row.identity() for row in new]
    went, came = _beyond(old, left, Counter(right)), _beyond(new, right, Counter(left))
    changed: list[ChangedRow] = []
    if key:
        _by_key(old, key, path=before)
        found = _by_key(new, key, path=after)
        pairs = [(row, found[row.identity(key)]) for row in went if row.identity(key) in found]
        changed = [_changed(one, other, key) for one, other in pairs]
        keys = {row.identity(key) for row, _ in pairs}
        went = [row for row in went if row.identity(key) not in keys]
        came = [row for row in came if row.identity(key) not in keys]
    return RowDiff(
        num_before=len(old),
        num_after=len(new),
        came=tuple(came),
        went=tuple(went),
        changed=tuple(changed),
        is_reordered=not (came or went or changed) and left != right,
    )


def _beyond(found: Sequence[DataRow], identities: Sequence[str], others: Counter[str]) -> list[DataRow]:
    """The rows that the other table does not have, or not as often."""
    beyond = []
    for row, identity in zip(found, identities, strict=True):
        if others[identity] > 0:
            others[identity] -= 1
        else:
            beyond.append(row)
    return beyond


def _by_key(found: Sequence[DataRow], key: Sequence[str], *, path: Path) -> dict[str, DataRow]:
    by_key: dict[str, DataRow] = {}
    for row in found:
        first = by_key.setdefault(row.identity(key), row)
        if first is not row:
            raise UsageError(
                f"the key {', '.join(key)} stands for two rows: lines {first.line} and {row.line}",
                where=f"{path}:{row.line}",
                fix="name the columns that identify a row, or none",
            )
    return by_key


def _changed(before: DataRow, after: DataRow, key: Sequence[str]) -> ChangedRow:
    names = sorted(before.values.keys() | after.values.keys())
    columns = {
        name: (before.values.get(name), after.values.get(name))
        for name in names
        if before.values.get(name) != after.values.get(name)
        or (name in before.values) != (name in after.values)
        or type(before.values.get(name)) is not type(after.values.get(name))
    }
    return ChangedRow(
        key={name: before.values[name] for name in key},
        line_before=before.line,
        line_after=after.line,
        columns=columns,
    )
