"""Tables, such as the ``progress.csv`` of many training programs: with commas, semicolons or tabs.

Names have no blanks around them. A header that stands in the middle again, and empty lines at the end, are
left out with a warning. A cell is a number if it is written like one, ``nan`` and ``inf`` in any case of
letters too, otherwise a string; an empty cell is null. Columns that two libraries add by themselves are left
out: those of Ray Tune's ``progress.csv`` (``tune_fields``), and the time ``t`` of Stable-Baselines3's
``monitor.csv``.

    >>> next(read(Path("progress.csv"))).record
    {'step': 256, 'loss': 0.5, 'note': None}
"""

from __future__ import annotations

import contextlib
import csv
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from reprokit.adapters import tune_fields
from reprokit.adapters.reading import Note, Reading, integer, open_file

NAME = "csv"
_MONITOR = '#{"t_start":'
ORDER = 20
WHOLE_FOLDER = False
PATTERNS = ("progress.csv", "metrics.csv", "*.csv", "*.tsv")

MAX_INTEGER_DIGITS = 640
#: As in ``jsonl_file``: a longer line is none of a table, and would be held in memory whole.
MAX_LINE = 4 << 20

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_FLOAT = re.compile(
    r"[+-]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:e[+-]?\d++)?|nan|inf(?:inity)?)", re.ASCII | re.IGNORECASE
)

_ASSIGNED = re.compile(r"[A-Za-z]\s*[=:]\s*[-+]?\d")
# Possessive: each space is looked at once, not once for every space before it.
_SENTENCE = re.compile(r"[A-Za-z](?:\s++|\s*+[=:]\s*+)[-+]?\d")

_BLANK, _COMMENT = (("blank_line", ""),), (("comment_line", ""),)
#: What may stand between cells, the likeliest first.
_DELIMITERS = ",;\t"

Cell = int | float | str | None


def reads(_path: Path) -> bool:
    """Whatever has such a name is read."""
    return True


def read(path: Path) -> Iterator[Reading]:
    """The rows of a table, each with the header's names.

    Lines that begin with ``#`` are comments; among the rows, those that have not as many cells as the header.

    Raises:
        MetricsError: The path cannot be opened as a file.
    """
    descriptor = open_file(path)
    size = os.fstat(descriptor).st_size
    whole = size == 0 or os.pread(descriptor, 1, size - 1) in b"\r\n"
    with os.fdopen(descriptor, encoding="utf-8-sig", newline="") as file:
        latest: Reading | None = None
        blank: list[Reading] = []
        before: tuple[Note, ...] = ()  # of comments between the header and the first row
        for reading in _readings(file):
            if _COMMENT[0] in reading.notes:
                if latest is None:
                    before += reading.notes
                else:
                    latest = replace(latest, notes=latest.notes + reading.notes)
                continue
            if latest is not None and reading.record is None and reading.notes == _BLANK:
                blank.append(reading)
                continue
            yield from ([latest, *blank] if latest is not None else ())
            latest, blank, before = replace(reading, notes=before + reading.notes), [], ()
        if latest is not None:
            ended = ("blank_end", "") if blank else ("no_final_newline", "")
            yield replace(latest, notes=(*latest.notes, ended)) if blank or not whole else latest


def is_number(cell: str) -> bool:
    """Whether a cell is written like a number."""
    return _FLOAT.fullmatch(cell.strip()) is not None


class _LineTooLongError(Exception):
    """A line is longer than ``MAX_LINE``."""


def _lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise _LineTooLongError
        yield line


def _readings(file: TextIO) -> Iterator[Reading]:
    rows = _rows(file)
    try:
        header, comments = _header(rows)
        if not header:
            word = "empty_file" if header is None else "blank_line"
            yield Reading(line=None, record=None, notes=((word, ""),))
            return
        header = [name.strip() for name in header]
        is_named = not all(map(is_number, header))
        if not is_named and any("." in cell for cell in header):  # a table of numbers without a header
            first, header = header, [f"column {at}" for at in range(1, len(header) + 1)]
            yield _reading(header, first, rows.line_num, ())
        twice = sorted(name for name, count in Counter(header).items() if count > 1)
        if twice:
            yield Reading(line=None, record=None, notes=(("duplicate_key", f"column '{twice[0][:80]}'"),))
            return
        left_out = _added_by_library(header, comments)
        repeated: tuple[Note, ...] = ()
        for at, row in enumerate(rows):
            if is_named and _is_header(row, header):
                header = [name.strip() for name in row]
                repeated = (("repeated_header", ""),)
                continue
            if at == 0 and _is_text(header, row):
                detail = (
                    f"{', '.join(header)[:80]!r}; name it .log or .txt, or write a header and rows of numbers"
                )
                yield Reading(line=1, record=None, notes=(("not_a_table", detail),))
                return
            reading = _reading(header, row, rows.line_num, left_out)
            yield replace(reading, notes=(*repeated, *reading.notes)) if repeated else reading
            repeated = ()
    except UnicodeDecodeError as error:
        yield Reading(line=rows.line_num + 1, record=None, notes=(("invalid_utf8", error.reason),))
    except csv.Error as error:
        yield Reading(line=rows.line_num, record=None, notes=(("ragged_row", str(error)),))
    except _LineTooLongError:
        yield Reading(line=rows.line_num + 1, record=None, notes=(("line_too_long", ""),))


def unread_comments(path: Path) -> str:
    """The comments of a table, which no record holds; "" where a library wrote its times there."""
    lines: list[str] = []
    skipped = (OSError, UnicodeDecodeError, _LineTooLongError)
    with contextlib.suppress(*skipped), path.open(encoding="utf-8") as file:
        lines = [line for line in _lines(file) if line.startswith("#")]
    return "" if lines and lines[0].startswith(_MONITOR) else "".join(lines)


def _rows(file: TextIO) -> Any:
    """A reader of the table; the first line that is no comment shows what stands between cells."""
    header = ""
    with contextlib.suppress(UnicodeDecodeError, _LineTooLongError):  # the reader comes to the same place
        header = next((line for line in _lines(file) if not line.startswith("#")), "")
    file.seek(0)
    delimiter = next((one for one in _DELIMITERS if one in header), _DELIMITERS[0])
    return csv.reader(_lines(file), strict=True, delimiter=delimiter)


def _header(rows: Iterator[list[str]]) -> tuple[list[str] | None, str]:
    """The names, None in an empty file, and the first line above them that is a comment, or ""."""
    comment = ""
    for row in rows:
        if not row or not row[0].startswith("#"):
            return row, comment
        comment = comment or ",".join(row)
    return None, comment


def _is_comment(row: Sequence[str], header: Sequence[str]) -> bool:
    return bool(row) and row[0].startswith("#") and len(row) != len(header)


def _is_header(row: Sequence[str], header: Sequence[str]) -> bool:
    """Whether a row is the header again, or one of a program that continued with more or fewer names."""
    names = [cell.strip() for cell in row]
    if names == header:
        return True
    is_of_names = len(names) > 1 and all(names) and not any(map(is_number, names))
    return is_of_names and len({*names}) == len(names) and ({*names} >= {*header} or {*names} < {*header})


def _added_by_library(header: Sequence[str], comment: str) -> frozenset[str]:
    """Columns that hold a library's own times and places, where the table is known to be of that library."""
    if set(header) >= tune_fields.SIGNATURE:
        return frozenset(filter(tune_fields.is_added, header))
    is_monitor = list(header[:3]) == ["r", "l", "t"] and comment.startswith(_MONITOR)
    return frozenset({"t"} if is_monitor else ())


def _is_text(header: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a header is a line of a log: a cell and the one below it both say a number after a word."""
    if _is_comment(row, header):
        return False
    if len(row) != len(header):
        return any(_ASSIGNED.search(cell) for cell in row)
    return any(
        _SENTENCE.search(name) and _SENTENCE.search(cell) for name, cell in zip(header, row, strict=True)
    )


def _reading(header: Sequence[str], row: Sequence[str], line: int, left_out: Collection[str]) -> Reading:
    if not row:
        return Reading(line=line, record=None, notes=(("blank_line", ""),))
    if _is_comment(row, header):
        return Reading(line=line, record=None, notes=_COMMENT)
    if len(row) != len(header):
        detail = f"{len(row)} cells under {len(header)} names"
        return Reading(line=line, record=None, notes=(("ragged_row", detail),))
    notes: list[Note] = []
    cells = zip(header, row, strict=True)
    record = {name: _cell(text, notes) for name, text in cells if name not in left_out}
    return Reading(line=line, record=record, notes=tuple(notes))


def _cell(text: str, notes: list[Note]) -> Cell:
    stripped = text.strip(" \t")
    if not stripped:
        return None
    if _INTEGER.fullmatch(stripped):
        if len(stripped) <= MAX_INTEGER_DIGITS:
            return integer(stripped)
        notes.append(("integer_too_long", f"{len(stripped):,} digits"))
        return None
    if not _FLOAT.fullmatch(stripped):
        return text
    value = float(stripped)
    if math.isinf(value) and "inf" not in stripped.lower():
        notes.append(("number_overflow", stripped[:40]))
    return value
