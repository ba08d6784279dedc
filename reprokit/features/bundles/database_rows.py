"""The rows of an SQLite database, read from its bytes; nothing in it is run, and no file is opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

MARK = b"SQLite format 3\0"
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
_JOURNAL = slice(18, 20)  # two 1s: without a journal beside it, https://sqlite.org/fileformat.html


def names_and_values(content: bytes) -> Iterator[tuple[str, str]]:
    """Each text with its column's name, and with the text before it in its row."""
    plain = bytearray(content)
    plain[_JOURNAL] = b"\1\1"
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.deserialize(bytes(plain))
            for (table,) in database.execute(_TABLES).fetchall():
                yield from _of_table(database, table)
        except (sqlite3.Error, ValueError, OverflowError):
            return  # damaged or encrypted: its bytes are looked at all the same


def _of_table(database: sqlite3.Connection, table: str) -> Iterator[tuple[str, str]]:
    quoted = table.replace('"', '""')
    rows = database.execute(f'SELECT * FROM "{quoted}"')  # noqa: S608 (a name cannot be a parameter)
    names = [column[0] for column in rows.description]
    for row in rows:
        texts = [(name, cell) for name, cell in zip(names, row, strict=True) if isinstance(cell, str)]
        yield from texts
        yield from pairwise(cell for _, cell in texts)
