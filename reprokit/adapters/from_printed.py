r"""Logs of printed lines, such as ``iteration 10/ 500 | lm loss: 8.85E+00 |``: every number of every line.

A number is called by the text before it (``lm loss``), in tables by the header, and in boxes as
Stable-Baselines3 draws them by section and row, a record a box. ``10/500`` is two numbers: ``iteration`` and
``iteration of``. What is a date, a duration or a speed (``0:01:02``, ``46ms``, ``1.2it/s``) stays the text
that it is. Words that hold digits, nan or inf in other forms (``1_298_000``) are the ``other text`` of their
line. Of a bar that is drawn again and again, the last state counts. Lines without either are left out; a
warning says how many lines were read, and which names were found.

    >>> next(read(Path("train.log"))).record
    {'iteration': 10, 'iteration of': 500, 'lm loss': 8.85}
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reprokit.adapters.jsonl.jsonl_file import LineFile, LineTooLongError
from reprokit.adapters.printed.printed_rest import rest_of, without_places
from reprokit.adapters.printed.printed_tokens import cell_value, label_of, tokens_in
from reprokit.adapters.reading import Reading

NAME = "printed"
ORDER = 210
WHOLE_FOLDER = False
PATTERNS = ("*.log", "*.out")

_LOOKED_AT_BYTES = 1 << 20
_MOST_NAMES_SAID = 12
#: What a text is called that holds a digit, or nan or inf, in no form that is known.
_REST = "other text"
_DRAWN_OVER = re.compile(r"\r|\x08+")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_RULE = re.compile(r"[\s|+=:\u2500-\u257f-]{3,}")
#: Sides of cells, as libraries draw tables.
_SIDES = str.maketrans("│┃║", "|||")
_CELL_ENDS = re.compile(r"\s{2,}|\s*\|\s*|\t")
_CELLS = re.compile(r"[^\s|]+")
_LEADING = re.compile(r"\s*(?:\[(?P<bracket>\d{1,15})\]|(?P<bare>\d{1,15}):)\s")


def reads(path: Path) -> bool:
    """Whether lines come again that name the same numbers, with a fraction among them, or a table does."""
    log, seen = _Log(), set[tuple[str, ...]]()
    with LineFile(path) as file, contextlib.suppress(LineTooLongError):
        for block in file.blocks():
            readings = (reading for line in block.lines() for reading in log.take(line, 0))
            for reading in itertools.chain(readings, log.last()):
                names = tuple(reading.record or ())
                if any(isinstance(value, float) for value in (reading.record or {}).values()):
                    if names in seen:
                        return True
                    seen.add(names)
            if file.offset > _LOOKED_AT_BYTES:
                break
    return False


def read(path: Path) -> Iterator[Reading]:
    """A record for each line, row or box that holds a number.

    Raises:
        MetricsError: The path cannot be opened as a file.
    """
    log = _Log()
    latest: Reading | None = None
    with LineFile(path) as file:
        if not file.size:
            yield Reading(line=None, record=None, notes=(("empty_file", ""),))
            return
        try:
            for block in file.blocks():
                for number, line in enumerate(block.lines(), start=file.line):
                    for reading in log.take(line, number):
                        yield from () if latest is None else (latest,)
                        latest = reading
        except LineTooLongError:
            yield from () if latest is None else (latest,)
            latest = Reading(line=file.line, record=None, notes=(("line_too_long", ""),))
    for reading in log.last():
        yield from () if latest is None else (latest,)
        latest = reading
    if not log.num_read:
        yield from () if latest is None else (latest,)
        detail = "no line holds a number"
        yield Reading(line=None, record=None, notes=(("no_records", detail),))
    elif latest is not None:
        yield replace(latest, notes=(*latest.notes, ("printed_lines", log.read_so_far())))


@dataclass(slots=True)
class _Log:
    """What was seen of a log so far."""

    num_lines: int = 0
    num_read: int = 0
    num_drawn_over: int = 0
    names: dict[str, None] = field(default_factory=dict)
    header: str | None = None  # a line without numbers that may be one
    columns: tuple[str, ...] = ()
    box: dict[str, Any] = field(default_factory=dict)
    box_line: int = 0
    section: str = ""

    def take(self, data: bytes, number: int) -> Iterator[Reading]:
        """The records that end with a line."""
        if b"\0" in data:
            yield Reading(line=number, record=None, notes=(("nul_byte", ""),))
            return
        text = _ESCAPES.sub("", data.decode("utf-8", "backslashreplace"))
        states = [state for state in _DRAWN_OVER.split(text) if state.strip()]
        if not states:
            return
        line = without_places(states[-1].translate(_SIDES))
        self.num_lines += 1
        self.num_drawn_over += len(states) - 1
        cells = [cell.strip() for cell in line.strip().split("|")]
        if len(cells) == 4 and not cells[0] and not cells[3] and _is_of_box(cells[1], cells[2]):
            yield from self._box_row(cells[1], cells[2], number)
            return
        yield from self.last()
        if _RULE.fullmatch(line):
            self.num_lines -= 1
            return
        record = self._row(line) or _named(line)
        if record:
            yield self._reading(record, number)
        if not _has_number(record):
            self.columns, self.header = (), line

    def last(self) -> Iterator[Reading]:
        """The box that is open."""
        if self.box:
            self.num_read -= 1
            yield self._reading(self.box, self.box_line)
        self.box, self.section = {}, ""

    def read_so_far(self) -> str:
        """How much was read, and which names."""
        names = list(self.names)
        more = f" and {len(names) - _MOST_NAMES_SAID:,} more" if len(names) > _MOST_NAMES_SAID else ""
        said = ", ".join(names[:_MOST_NAMES_SAID])
        over = (
            f"; {self.num_drawn_over:,} states that were drawn over were not read"
            if self.num_drawn_over
            else ""
        )
        return f"{self.num_read:,} of {self.num_lines:,} lines hold some: {said}{more}{over}"

    def _box_row(self, name: str, value: str, number: int) -> Iterator[Reading]:
        full = f"{self.section}{name}"
        if not value:
            self.section = name if name.endswith("/") else f"{name}/"
            return
        if full in self.box:
            yield from self.last()
        self.box[full] = cell_value(value)
        self.box_line = self.box_line if len(self.box) > 1 else number
        self.num_read += 1

    def _row(self, line: str) -> Mapping[str, Any] | None:
        """The cells of a table's row by the names of its header."""
        cells = _CELLS.findall(line)
        if not self.columns and self.header is not None:
            self.columns = _columns(self.header, len(cells))
        values = list(map(cell_value, cells))
        is_row = len(values) == len(self.columns) and any(isinstance(value, int | float) for value in values)
        if is_row and not isinstance(values[0], int | float):
            is_row = all(one != name for one, name in zip(values, self.columns, strict=True))
        if not is_row or any("=" in cell or cell.endswith(":") for cell in cells):
            self.columns, self.header = (), None
            return None
        return dict(zip(self.columns, values, strict=True))

    def _reading(self, record: Mapping[str, Any], number: int) -> Reading:
        self.num_read += _has_number(record)
        self.names |= dict.fromkeys(record)
        return Reading(line=number, record=dict(record))


def _has_number(record: Mapping[str, Any]) -> bool:
    """Whether a record holds more than text that is in no known form."""
    return not all(name == _REST and isinstance(value, str) for name, value in record.items())


def _is_of_box(name: str, value: str) -> bool:
    """Whether a row with two cells is a name and its number, or the name of a section."""
    is_name = bool(name) and isinstance(cell_value(name), str)
    return is_name and (not value or not isinstance(cell_value(value), str))


def _columns(header: str, number: int) -> tuple[str, ...]:
    """The names of a header of so many columns, or none."""
    header = header.strip(" \t|#")
    for names in (list(filter(None, _CELL_ENDS.split(header))), _CELLS.findall(header)):
        if len(names) == number >= 2 and len({*names}) == number and not any(map(tokens_in, names)):
            return tuple(names)
    return ()


def _named(line: str) -> Mapping[str, Any]:
    """The numbers of a line by the text before each."""
    record: dict[str, Any] = {}
    begin, before = 0, ""
    leading = _LEADING.match(line)
    if leading:
        record["iteration"] = int(leading["bracket"] or leading["bare"])
        begin = leading.end()
    names = _Names(record)
    rest: list[str] = []
    for token in tokens_in(line, begin):
        label = label_of(line[begin : token.begin])
        is_level = token.kind == "date" and label.isupper()  # such as [INFO 2026-…]
        label = token.kind if is_level else label or token.kind or before or "value"
        rest += rest_of(line[begin : token.begin], label)
        name = names.unused(f"{label} ({token.unit})" if token.unit else label)
        record[name] = token.value
        if token.of is not None:
            record[names.unused(f"{name} of")] = token.of
        begin, before = token.end, label
    rest += rest_of(line[begin:], "")
    if rest:
        record[names.unused(_REST)] = " ".join(rest)
    return record


class _Names:
    """Names of one line, each once: the second of one name gets a 2 behind it."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._counts: Counter[str] = Counter()

    def unused(self, name: str) -> str:
        one = name
        while one in self._taken:
            self._counts[name] += 1
            one = f"{name} {self._counts[name] + 1}"
        self._taken.add(one)
        return one
