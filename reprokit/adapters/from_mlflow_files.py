"""MLflow's old file store (``mlruns/<experiment>/<run>/metrics/``): a file a metric, a source a run.

A line is a time stamp, which is left out, the number and the step. Parameters and tags are not read.

    >>> next(read(Path("mlruns/0/5f3759df5f3759df5f3759df5f3759df"))).record
    {'step': 0, 'loss': 0.5}
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from pathlib import Path

from reprokit import file_tree
from reprokit.adapters.jsonl.jsonl_file import LineFile, LineTooLongError
from reprokit.adapters.reading import Note, Reading
from reprokit.adapters.steps_merged import TooManyError, records
from reprokit.file_tree import Kind

NAME = "mlflow_files"
ORDER = 45
WHOLE_FOLDER = True
PATTERNS = (f"{'?' * 32}/metrics/**",)

MAX_VALUES = 2_000_000

_METRICS = "metrics"
_RUN_ID = re.compile(r"[0-9a-f]{32}")
_LINE = re.compile(
    rb"(-?\d{1,20}) ([+-]?(?:\d{1,400}(?:\.\d{0,400})?(?:e[+-]?\d{1,4})?|nan|inf))(?: (-?\d{1,19}))?",
    re.ASCII,
)

_Value = tuple[int, str, float]


class _DamagedError(ValueError):
    """A file that cannot be read whole."""

    def __init__(self, line: int | None, note: Note) -> None:
        self.line, self.note = line, note
        super().__init__(note[1])


def reads(path: Path) -> bool:
    """Whether a file is below the folder of a run, whose name is 32 digits of a UUID."""
    return any(
        part == _METRICS and _RUN_ID.fullmatch(run) is not None
        for run, part in zip(path.parts, path.parts[1:], strict=False)
    )


def read(path: Path) -> Iterator[Reading]:
    """The metrics of a run's folder, or of one file.

    Raises:
        MetricsError: The path, or a file below it, cannot be opened.
    """
    try:
        every = _of_folder(path / _METRICS) if path.is_dir() else _of_file(path, path.name)
        values = sorted(_limited(every), key=itemgetter(0))
        for number, record in enumerate(records(values), start=1):
            yield Reading(line=number, record=record)
    except _DamagedError as error:
        yield Reading(line=error.line, record=None, notes=(error.note,))
    except TooManyError as error:
        yield Reading(line=None, record=None, notes=(("too_many_metrics", str(error)),))


def _limited(values: Iterator[_Value]) -> Iterator[_Value]:
    yield from islice(values, MAX_VALUES)
    if next(values, None) is not None:
        raise _DamagedError(None, ("too_large", f"more than {MAX_VALUES:,} values"))


def _of_folder(folder: Path) -> Iterator[_Value]:
    for entry in file_tree.walk(folder):
        if entry.kind is Kind.FOLDER:
            continue
        if entry.kind is not Kind.FILE:
            raise _DamagedError(None, ("not_a_file", f"'{entry.name}' {entry.because}".strip()))
        yield from _of_file(folder / entry.name, entry.name)


def _of_file(path: Path, name: str) -> Iterator[_Value]:
    with LineFile(path) as file:
        if not file.size:
            raise _DamagedError(None, ("empty_file", f"'{name}'"))
        try:
            for block in file.blocks():
                for number, line in enumerate(block.lines(), start=file.line):
                    yield _value(line, name, number)
                if not block.terminated:
                    raise _DamagedError(file.line + block.num_lines - 1, ("torn_line", f"'{name}'"))
        except LineTooLongError as error:
            raise _DamagedError(file.line, ("line_too_long", f"'{name}'")) from error


def _value(line: bytes, name: str, number: int) -> _Value:
    match = _LINE.fullmatch(line)
    if match is None:
        raise _DamagedError(number, ("not_a_table", f"'{name}' is not one of MLflow's: time, number, step"))
    value = float(match[2])
    if math.isinf(value) and b"inf" not in match[2]:
        raise _DamagedError(number, ("number_overflow", f"'{name}'"))
    return int(match[3] or 0), name, value
