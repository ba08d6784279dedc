"""Text in the columns of a terminal, where a character takes none, one or two: measured, wrapped, cut."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import zip_longest

_JAMO = range(0x1160, 0x1200)  # vowels and final consonants, drawn onto the one before
_GAP = 2


def columns_of(text: str) -> int:
    """How many columns a text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def wrapped_lines(text: str, *, width: int) -> list[str]:
    """The text, broken between words where it can be, on lines of at most so many columns."""
    width, lines = max(width, 2), []  # what takes two columns has room
    for paragraph in text.split("\n"):
        line = ""
        for word in re.findall(r"\s*\S+\s*", paragraph):
            if columns_of(line) + columns_of(word.rstrip()) <= width:
                line += word
                continue
            if line:
                lines.append(line.rstrip())
            *whole, line = _pieces(word, width=width)
            lines += [piece.rstrip() for piece in whole]
        lines.append(line.rstrip())
    return lines


def cut(text: str, *, width: int) -> str:
    """The text in at most so many columns; what is cut off leaves an ellipsis."""
    return text if columns_of(text) <= width else f"{_pieces(text, width=max(width - 1, 1))[0]}…"


def table_lines(rows: Sequence[Sequence[str]], *, width: int, num_left: int | None = None) -> list[list[str]]:
    """The lines of each row of a table, its names of columns first; long cells go on below.

    Args:
        rows: Cells, which may have line ends.
        width: Columns of the terminal; the widest of the table give way until it fits.
        num_left: How many columns are flush left, the others right; all where None.
    """
    widths = [
        max(columns_of(line) for cell in column for line in cell.split("\n"))
        for column in zip(*rows, strict=True)
    ]
    while sum(widths) + _GAP * (len(widths) - 1) > width and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return [_row_lines(row, widths, len(widths) if num_left is None else num_left) for row in rows]


def _row_lines(row: Sequence[str], widths: Sequence[int], num_left: int) -> list[str]:
    cells = [wrapped_lines(cell, width=width) for cell, width in zip(row, widths, strict=True)]
    found = []
    for at in range(max(map(len, cells))):
        parts = [cell[at] if at < len(cell) else "" for cell in cells]
        blanks = [" " * (width - columns_of(part)) for part, width in zip(parts, widths, strict=True)]
        told = [
            part + blank if number < num_left else blank + part
            for number, (part, blank) in enumerate(zip(parts, blanks, strict=True))
        ]
        found.append((" " * _GAP).join(told).rstrip())
    return found


def _columns(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me"} or ord(character) in _JAMO:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _pieces(word: str, *, width: int) -> list[str]:
    """A word with the blanks around it in parts of at most so many columns, but for blanks at its end."""
    begins, taken = [0], 0
    for number, character in enumerate(word.rstrip()):
        taken += (columns := _columns(character))
        if taken > width:
            begins.append(number)
            taken = columns
    return [word[begin:end] for begin, end in zip_longest(begins, begins[1:])]
