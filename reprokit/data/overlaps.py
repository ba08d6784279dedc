"""Rows that stand in more than one of several tables."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.data import tokens
from reprokit.data.comparing import ComparedColumns, comparable
from reprokit.data.tables import form_of, kind_of, rows
from reprokit.errors import UsageError

_MOST_NAMED = 20
#: Forms that keep the same values: texts only, values with types, texts of a line or document.
_VALUES = ("csv tsv", "jsonl parquet arrow h5", "lines documents")


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
    """Refuse forms whose rows are never equal: that none is shared would say nothing."""
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
