r"""Patterns for tables in what a program prints: a name and a number a row, or a header and rows of numbers.

>>> propose_patterns(["epoch  loss  time", "1  0.5  00:01", "2  0.25  00:01"])
('^[\\s|]*(?P<step>…)[\\s|]+(?P<loss>…)[\\s|]+\\S+[\\s|]*$',)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reprokit.features.init.pattern_groups import group_names

_VALUE = r"[-+]?(?:[\d.][\w.+-]*|nan|NaN|inf)"
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z][\w./()%#-]*")
#: A row of Stable-Baselines3's table: | ep_rew_mean | 22.1 |
_ROW = re.compile(r"^\|\s+([A-Za-z][\w./-]{0,80})\s+\|\s+(\S{1,40})\s+\|$")
_CELLS = re.compile(r"[^\s|]+")
_MOST_ROWS, _MOST_COLUMNS = 40, 20


def propose_patterns(lines: Sequence[str]) -> tuple[str, ...]:
    """One pattern for each kind of table that comes with a fraction in it."""
    return (*_of_rows(lines), *_of_columns(lines))


def _of_rows(lines: Sequence[str]) -> tuple[str, ...]:
    """A table of two columns: all its rows in one pattern, each a metric."""
    found: dict[str, list[str]] = {}
    for line in lines:
        match = _ROW.match(line.rstrip())
        if match and _NUMBER.fullmatch(match[2]):
            found.setdefault(match[1], []).append(match[2])
    if len(found) < 2 or not any(map(_has_fraction, found.values())):
        return ()
    names = list(found)[:_MOST_ROWS]
    rows = [
        rf"{re.escape(name)}\s+\|\s+(?P<{'step_' if group == 'step' else group}>{_VALUE})"
        for name, group in zip(names, group_names(names), strict=True)
    ]
    return (rf"^\|\s+(?:{'|'.join(rows)})\s+\|\s*$",)


def _of_columns(lines: Sequence[str]) -> tuple[str, ...]:
    """Tables with a header, under which at least two rows have numbers in the same columns."""
    found: dict[str, None] = {}
    rows = [_CELLS.findall(line) for line in lines]
    filled = [row for row in rows if row and not all(set(cell) <= set("-=+:") for cell in row)]
    for at, header in enumerate(filled[:-2]):
        if 2 <= len(header) <= _MOST_COLUMNS and all(map(_NAME.fullmatch, header)):
            pattern = _columns(header, filled[at + 1 : at + 3])
            if pattern:
                found[pattern] = None
    return tuple(found)


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if any(len(row) != len(header) for row in rows):
        return ""
    columns = list(zip(*rows, strict=True))
    of_numbers = [all(map(_NUMBER.fullmatch, column)) for column in columns]
    if sum(of_numbers) < 2 or not any(
        is_number and _has_fraction(column) for is_number, column in zip(of_numbers, columns, strict=True)
    ):
        return ""
    cells = [
        rf"(?P<{group}>{_VALUE})" if is_number else r"\S+"
        for is_number, group in zip(of_numbers, group_names(header), strict=True)
    ]
    between = r"[\s|]+"
    return rf"^[\s|]*{between.join(cells)}[\s|]*$"


def _has_fraction(numbers: Sequence[str]) -> bool:
    return any(re.search(r"[.eE]|nan|inf", number) for number in numbers)
