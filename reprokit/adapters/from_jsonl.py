"""JSON Lines, the format of ``metrics.jsonl``: two files compared at the speed of their bytes.

Up to 32 MiB together, every line of two files is parsed, so that every odd line gets its word. Of larger
ones, what is equal byte for byte is skipped, except at both ends of the file and wherever a byte looks odd
(``jsonl_equal``); the warning ``not_parsed`` says how many lines that were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reprokit.adapters.jsonl.jsonl_file import LineFile, LineTooLongError
from reprokit.adapters.jsonl.jsonl_walk import MAX_UNREADABLE, JsonlWalk, Pace, readings
from reprokit.adapters.reading import Reading
from reprokit.core.comparing.comparer import Comparer
from reprokit.core.comparing.difference import Comparison
from reprokit.core.texts import Placeholders
from reprokit.core.tolerance import Tolerances
from reprokit.layout import METRICS

NAME = "jsonl"
ORDER = 10
WHOLE_FOLDER = False
PATTERNS = (METRICS, "*.jsonl", "*.ndjson")


def reads(_path: Path) -> bool:
    """Whatever has such a name is read."""
    return True


def read(path: Path) -> Iterator[Reading]:
    """The records of a file, in order, with what is odd about each.

    Raises:
        MetricsError: The path cannot be opened as a file.
    """
    with LineFile(path, cuts_blank_end=True) as file:
        try:
            num_unreadable = 0
            for block in file.blocks():
                is_last = file.blank_end and file.offset + len(block.data) >= file.size
                last = file.line + block.num_lines - 1 if is_last else 0
                for reading in readings(block, file.line):
                    ended = reading.line == last and (("blank_end", ""),)
                    yield replace(reading, notes=(*reading.notes, *ended)) if ended else reading
                    num_unreadable += reading.record is None
                    if num_unreadable > MAX_UNREADABLE:
                        yield Reading(line=reading.line, record=None, notes=(("too_many_errors", ""),))
                        return
        except LineTooLongError:
            yield Reading(line=file.line, record=None, notes=(("line_too_long", ""),))


def read_from(path: Path, first: int) -> Iterator[Reading]:
    """As ``read``, from the record at position ``first`` (from 0) on, without parsing those before it."""
    with LineFile(path, cuts_blank_end=True) as file:
        for block in file.blocks():
            if file.line + block.num_lines > first + 1:
                for reading in readings(block, file.line):
                    if (reading.line or 0) > first:
                        yield reading


def compare(
    expected: Path,
    actual: Path,
    *,
    tolerances: Tolerances | None = None,
    metrics: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    pace: Pace | None = None,
    placeholders: Placeholders | None = None,
) -> Comparison:
    """Compare two files record by record, as ``comparing.compare`` says.

    Raises:
        MetricsError: A path cannot be opened as a file. Whatever is wrong inside a file is a
            problem of the comparison instead.
    """
    pace = pace or Pace()
    with (
        LineFile(expected, block_bytes=pace.block_bytes, cuts_blank_end=True) as left,
        LineFile(actual, block_bytes=pace.block_bytes, cuts_blank_end=True) as right,
    ):
        may_skip = left.size + right.size > pace.parse_all_bytes
        while True:
            comparer = Comparer(
                tolerances=tolerances, metrics=metrics, ignore=ignore, placeholders=placeholders
            )
            walk = JsonlWalk(left, right, comparer, pace=pace, may_skip=may_skip)
            walk.run()
            if not walk.num_skipped or comparer.knows_enough:
                return comparer.finish()
            may_skip = False  # what was asked for may be in the lines that were skipped
            left.rewind()
            right.rewind()
