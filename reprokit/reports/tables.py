"""Tables and text of unknown origin, safe for a terminal."""

from __future__ import annotations

import math
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reprokit.reports.escaping import one_line

# Nothing in these acts on a terminal or a CI runner; a list has ten thousand of them.
_PLAIN = re.compile(r"[A-Za-z0-9 _.,+/()=%-]*(?::[A-Za-z0-9 _.,+/()=%-]+)*")

_MOST_IN_PIPE = 10


def shown(value: Any, *, limit: int = 200) -> str:
    """A value from a file that anyone may have written, escaped to one line."""
    text = "-" if value is None or value == "" else str(value)
    if len(text) <= limit and _PLAIN.fullmatch(text):
        return text
    return one_line(text, limit=limit)


def table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines of a table: the keys of the first row, then the rows."""
    if not rows:
        return []
    return aligned([[*rows[0]], *([shown(row[key], limit=1000) for key in rows[0]] for row in rows)])


def narrowed(rows: Sequence[Mapping[str, Any]], *, without: Sequence[str]) -> list[str]:
    """``table``; on a narrow terminal some of the named columns are left out, in this order."""
    lines = table(rows)
    for column in without:
        if fits(lines) or not rows:
            break
        rows = [{key: value for key, value in row.items() if key != column} for row in rows]
        lines = table(rows)
    return lines


def aligned(rows: Sequence[Sequence[str]], *, num_left: int | None = None) -> list[str]:
    """Rows of cells as lines: the first ``num_left`` columns (default: all) flush left, the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = len(widths) if num_left is None else num_left
    return [
        "  ".join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def without_dashes(rows: Sequence[Sequence[str]], *, num_left: int) -> list[tuple[str, ...]]:
    """A table, its names of columns first, without rows and columns of dashes or nothing.

    The first ``num_left`` columns say which row it is; they stay.
    """
    head, *others = rows
    empty = {"-", ""}
    kept = [row for row in others if not empty.issuperset(row[num_left:])]
    columns = [
        at for at in range(len(head)) if at < num_left or not empty.issuperset(row[at] for row in kept)
    ]
    return [tuple(row[at] for at in columns) for row in (head, *kept)]


def fitting(rows: Sequence[Sequence[str]], *, num_left: int) -> list[str]:
    """A table, its names of columns first, as lines; on a terminal that is too narrow, several tables.

    Nothing is cut: each of them begins with the first ``num_left`` columns, and all that has no room in one
    follows in the next, after an empty line.
    """
    lines = aligned(rows, num_left=num_left)
    if fits(lines):
        return lines
    left, others = list(range(num_left)), range(num_left, len(rows[0]))
    found: list[str] = []
    columns: list[int] = []
    for at in others:
        if columns and not fits(_some(rows, [*left, *columns, at], num_left=num_left)):
            found += [*_some(rows, [*left, *columns], num_left=num_left), ""]
            columns = []
        columns.append(at)
    return [*found, *_some(rows, [*left, *columns], num_left=num_left)]


def _some(rows: Sequence[Sequence[str]], columns: Sequence[int], *, num_left: int) -> list[str]:
    """Some columns of a table, without rows that have nothing in them."""
    parts = [[row[at] for at in columns] for row in rows]
    return aligned([part for part in parts if any(part[num_left:])], num_left=num_left)


def few_digits(value: float) -> str:
    """A number in a table: two decimals, or four significant digits where those would hide it.

    >>> few_digits(1497.52), few_digits(0.0123456)
    ('1,497.52', '0.01235')
    """
    enough = abs(value) >= 10 or (math.isfinite(value) and value == round(value, 2))
    return f"{value:,.2f}" if enough else f"{value:.4g}"


def bytes_text(size: float) -> str:
    """``1.5 MiB``."""
    if abs(size) < 1024:
        return f"{size:,.0f} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if abs(size) < 1024:
            return f"{size:,.1f} {unit}"
    return f"{size / 1024:,.1f} TiB"


def room() -> int | None:
    """Columns of the terminal that standard output is; None where it is none."""
    return max(shutil.get_terminal_size().columns, 20) if sys.stdout.isatty() else None


def fits(lines: Sequence[str]) -> bool:
    """Whether no line is wider than the terminal; always where there is none."""
    columns = room()
    return columns is None or all(len(line) <= columns for line in lines)


def for_pipe(lines: Iterable[str], *, rest: str) -> list[str]:
    """The lines as they are on a terminal; elsewhere ten at most, without empty ones.

    Args:
        lines: The answer first.
        rest: How the others can be had, such as ``-v shows all``.
    """
    if room() is not None:
        return list(lines)
    found = [line for line in lines if line]
    if len(found) <= _MOST_IN_PIPE:
        return found
    first = found[: _MOST_IN_PIPE - 1]
    return [*first, f"and {len(found) - len(first):,} more lines ({rest})"]


def folded(text: str, *, indent: int) -> str:
    """A line, wrapped and indented on a terminal; elsewhere left whole, for ``grep``."""
    columns = room()
    if columns is None:
        return text
    return textwrap.fill(
        text,
        max(columns, indent + 20),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )
