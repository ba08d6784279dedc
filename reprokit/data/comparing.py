"""What makes two rows of several tables equal: their values after reading, numbers by value.

``1`` and ``1.0`` are one number, in whatever format; ``true`` and ``"1"`` are none. CSV and TSV files
hold texts, which are compared as they are.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.core.records import digest
from reprokit.data.tables import DataRow, kind_of
from reprokit.errors import UsageError

#: What texts of numbers that are not finite are in formats with types: see ``columnar.plain``.
_NOT_FINITE = frozenset({"nan", "inf", "-inf"})
_TYPED = frozenset({"jsonl", "parquet", "arrow", "h5"})
_TEXT = frozenset({"csv", "tsv"})
_WHOLE, _POINT = re.compile(r"-?[0-9]+"), re.compile(r"-?[0-9]+\.[0-9]+")


def comparable(row: DataRow, columns: Sequence[str], *, table: str) -> str:
    """The identity of a row by some columns, or by those of its form: equal where the values are.

    Raises:
        UsageError: A value is a list of lists of lists, and so on, deeper than Python follows.
    """
    names = columns or row.same_by or tuple(row.values)
    try:
        return digest({name: _by_value(row.values[name]) for name in names})
    except RecursionError as error:
        raise UsageError(
            "a value is nested too deep to compare",
            where=f"{table}:{row.line}",
            expected="at most a few hundred lists in lists",
            fix="name the columns that identify a row with --key",
        ) from error


class ComparedColumns:
    """Which columns a table has and what they hold; compared are those ``named``, all where none is."""

    def __init__(self, name: str, form: str, named: Sequence[str]) -> None:
        self._name, self._form, self._named = name, kind_of(form), named
        self._sets: set[frozenset[str]] = set()
        self._kinds: dict[str, set[str]] = defaultdict(set)

    def add(self, row: DataRow) -> None:
        if not (self._named or row.same_by):
            self._sets.add(frozenset(row.values))
        if self._form in _TYPED or self._form in _TEXT:
            kind = _kind if self._form in _TYPED else _writing
            for column in self._named or row.values:
                self._kinds[column].add(kind(row.values[column]))

    def must_compare_to(self, other: ComparedColumns) -> None:
        """Refuse tables whose rows cannot be compared: that none is shared would say nothing.

        Raises:
            UsageError: No row of one has the columns of one of the other, or a column holds other types.
        """
        where = f"{other._name}, {self._name}"
        if self._sets and other._sets and not self._sets & other._sets:
            odd = sorted(min(self._sets, key=sorted) ^ min(other._sets, key=sorted))
            raise UsageError(
                f"only one of them has the column {odd[0]!r}, so no row can be in both",
                where=where,
                fix="name the columns that identify a row, with --key or under `disjoint`",
            )
        for column in self._kinds.keys() & other._kinds.keys():
            ours, theirs = self._kinds[column] - {""}, other._kinds[column] - {""}
            if ours and theirs and (ours != theirs if self._form in _TYPED else _written_apart(ours, theirs)):
                raise UsageError(
                    f"{column!r} holds {_listed(theirs)} in one table and {_listed(ours)} in the other, "
                    "which are never equal",
                    where=where,
                    fix="write the column the same way in both, or name other columns with --key",
                )


def _by_value(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_by_value(one) for one in value]
    if isinstance(value, Mapping):
        return {name: _by_value(one) for name, one in value.items()}
    return value


def _kind(value: Any) -> str:
    """The type of a value; "" for one that is missing or no finite number."""
    if value is None or (isinstance(value, str) and value in _NOT_FINITE):
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    if isinstance(value, bool):
        return "booleans"
    if isinstance(value, int | float):
        return "numbers"
    return "texts" if isinstance(value, str) else "structures"


def _writing(text: str) -> str:
    """How a text writes a number; "" where it is empty."""
    if _WHOLE.fullmatch(text):
        return "whole numbers"
    if _POINT.fullmatch(text):
        return "numbers with a decimal point"
    return "texts" if text else ""


def _written_apart(ours: set[str], theirs: set[str]) -> bool:
    """Whether one table writes all numbers of a column whole, and the other one all with a point."""
    return not ours & theirs and "texts" not in ours | theirs


def _listed(kinds: set[str]) -> str:
    return " and ".join(sorted(kinds))
