"""Two JSON Lines files gone through side by side; only lines that need it are parsed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reprokit.adapters.jsonl.jsonl_block import read_table
from reprokit.adapters.jsonl.jsonl_equal import SEGMENT_BYTES, equal_stretch
from reprokit.adapters.jsonl.jsonl_file import BLOCK_BYTES, LINE_FEED, Block, LineFile, LineTooLongError
from reprokit.adapters.jsonl.jsonl_line import LONG_LINE_BYTES, read_record
from reprokit.adapters.reading import Reading
from reprokit.core import problems
from reprokit.core.comparing.comparer import Comparer
from reprokit.core.comparing.record_table import RecordTable

_DENSE = 8  # from one differing line in so many on, whole blocks are parsed …
_DENSE_BLOCKS = 16  # … for so many blocks, until the differences are counted again
_SIDES = ("expected", "actual")

MAX_UNREADABLE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How two files are gone through; the answer does not depend on it, warnings apart."""

    parse_all_bytes: int = 32 << 20  # two files of together at most this size are parsed line by line
    edge_bytes: int = 1 << 16  # how much is parsed at both ends of larger ones, equal or not
    block_bytes: int = BLOCK_BYTES  # how much is read of a file at a time
    segment_bytes: int = SEGMENT_BYTES  # how much is compared as bytes at a time


class _TooManyErrors(Exception):  # noqa: N818  it ends the walk, and no one else sees it
    """So much is unreadable that the answer is known."""


class JsonlWalk:
    """One way through two files, from the start to the end of both; ``comparer`` gets every pair of records.

    ``may_skip``: lines that are equal byte for byte may go unparsed.
    """

    def __init__(
        self, expected: LineFile, actual: LineFile, comparer: Comparer, *, pace: Pace, may_skip: bool
    ) -> None:
        self.num_skipped = 0
        self._files = expected, actual
        self._comparer = comparer
        self._pace = pace
        self._may_skip = may_skip
        self._dense_blocks = 0
        self._num_unreadable = 0

    def run(self) -> None:
        """Compare everything, and note in the comparer's log what is wrong with the files."""
        for file, side in zip(self._files, _SIDES, strict=True):
            if file.size == 0:
                self._comparer.log.add("empty_file", side)
            if file.blank_end:
                self._comparer.log.add("blank_end", side)
        try:
            self._pairs()
            self._rest()
        except LineTooLongError as error:
            side = _SIDES[self._files.index(error.file)]
            self._comparer.log.add("line_too_long", side, line=error.file.line)
        except _TooManyErrors:
            self._comparer.log.add("too_many_errors", problems.BOTH)
        for file, side in zip(self._files, _SIDES, strict=True):
            if file.changed:
                self._comparer.log.add("file_changed", side)
        if self.num_skipped:
            detail = f"{self.num_skipped:,} of {max(file.line for file in self._files) - 1:,} were not"
            self._comparer.log.add("not_parsed", problems.BOTH, detail=detail)

    def _pairs(self) -> None:
        """Go through both files until one has no more lines."""
        left_file, right_file = self._files
        while True:
            if self._may_skip and not self._dense_blocks and left_file.offset and right_file.offset:
                self._skip_stretch()
            left, right = left_file.peek(), right_file.peek()
            num_lines = min(left.num_lines, right.num_lines)
            if num_lines == 0:
                return
            if self._may_skip and self._comparer.position == 0:  # the edge is enough to begin with
                num_lines = min(num_lines, 1 + int(np.searchsorted(left.ends, self._pace.edge_bytes)))
            self._blocks(left.head(num_lines), right.head(num_lines))
            left_file.advance(left, num_lines)
            right_file.advance(right, num_lines)

    def _skip_stretch(self) -> None:
        left, right = self._files
        limit = min(file.size - file.offset for file in self._files) - self._pace.edge_bytes
        stretch = equal_stretch(left, right, limit=limit, segment_bytes=self._pace.segment_bytes)
        left.skip(stretch.num_bytes, stretch.num_lines)
        right.skip(stretch.num_bytes, stretch.num_lines)
        self._skip_lines(stretch.num_lines)

    def _skip_lines(self, num_lines: int) -> None:
        if num_lines:
            self._comparer.skip(num_lines)
            self.num_skipped += num_lines

    def _blocks(self, left: Block, right: Block) -> None:
        """Compare two blocks of as many lines."""
        if self._must_parse(left, right):
            self._parse(left, right)
            return
        if left.data == right.data:
            self._dense_blocks = 0
            self._skip_lines(left.num_lines)
            return
        if not self._dense_blocks:
            lines = list(zip(left.lines(), right.lines(), strict=True))
            differing = [at for at, (one, other) in enumerate(lines) if one != other]
            if len(differing) * _DENSE <= len(lines):
                self._parse_only(differing, lines)
                return
            self._dense_blocks = _DENSE_BLOCKS
        self._dense_blocks -= 1
        self._parse(left, right)

    def _must_parse(self, left: Block, right: Block) -> bool:
        """Whether every line counts: all do in small files, at both ends, and near odd bytes."""
        if not self._may_skip or self._comparer.position == 0:
            return True
        if any(map(self._reaches_edge, self._files, (left, right))):
            return True
        return not (_is_plain(left) and _is_plain(right))

    def _reaches_edge(self, file: LineFile, block: Block) -> bool:
        return file.offset + len(block.data) >= file.size - self._pace.edge_bytes

    def _parse(self, left: Block, right: Block) -> None:
        first_lines = self._files[0].line, self._files[1].line
        expected = _table(left)
        actual = expected if left.data == right.data else _table(right)
        if expected is not None and actual is not None and expected.names == actual.names:
            self._comparer.add_table(expected, actual, first_lines=first_lines)
            return
        pairs = zip(left.lines(), right.lines(), strict=True)
        last = left.num_lines - 1
        for at, (one, other) in enumerate(pairs):
            ended = at < last or left.terminated, at < last or right.terminated
            self._pair(one, other, at=at, terminated=ended)

    def _parse_only(self, differing: list[int], lines: list[tuple[bytes, bytes]]) -> None:
        done = 0
        for at in differing:
            self._skip_lines(at - done)
            self._pair(*lines[at], at=at, terminated=(True, True))
            done = at + 1
        self._skip_lines(len(lines) - done)

    def _pair(self, left: bytes, right: bytes, *, at: int, terminated: tuple[bool, bool]) -> None:
        lines = self._files[0].line + at, self._files[1].line + at
        expected = read_record(left, number=lines[0], terminated=terminated[0])
        actual = expected
        if left != right or terminated[0] != terminated[1]:
            actual = read_record(right, number=lines[1], terminated=terminated[1])
        for reading, line, side in zip((expected, actual), lines, _SIDES, strict=True):
            self._note(reading, line, side)
        if expected.record is None or actual.record is None:
            self._comparer.unreadable()
        else:
            self._comparer.add(expected.record, actual.record, lines=lines)

    def _note(self, reading: Reading, line: int, side: str) -> None:
        self._num_unreadable += reading.record is None
        for kind, detail in reading.notes:
            self._comparer.log.add(kind, side, line=line, detail=detail)
        if self._num_unreadable > MAX_UNREADABLE:
            raise _TooManyErrors

    def _rest(self) -> None:
        """Count what the longer file has left, and look at it as closely as at the rest."""
        lengths = [file.size - file.offset for file in self._files]
        if not any(lengths):
            return
        at = int(lengths[1] > 0)
        longer, first, first_line = self._files[at], None, self._files[at].line
        for block in longer.blocks():
            inside = longer.line != first_line and not self._reaches_edge(longer, block)
            if self._may_skip and inside and _is_plain(block):
                self.num_skipped += block.num_lines
                continue
            for reading in readings(block, longer.line):
                self._note(reading, reading.line or 0, _SIDES[at])
                first = reading.record if reading.line == first_line else first
        expected, actual = (file.line - 1 for file in self._files)
        self._comparer.end(
            num_expected=expected, num_actual=actual, record=first, lines=(first_line, first_line)
        )


def readings(block: Block, first_line: int) -> Iterator[Reading]:
    """The records of a block whose first line has that number, in order, with what is odd about each."""
    table = _table(block)
    if table is not None:
        for at in range(table.num_records):
            yield Reading(line=first_line + at, record=table.record(at))
        return
    last = block.num_lines - 1
    for at, line in enumerate(block.lines()):
        yield read_record(line, number=first_line + at, terminated=at < last or block.terminated)


def _table(block: Block) -> RecordTable | None:
    """The block as a table, unless it holds a line that is long enough to be said."""
    if len(block.data) > LONG_LINE_BYTES and np.diff(block.ends, prepend=-1).max() > LONG_LINE_BYTES:
        return None
    return read_table(block)


def _is_plain(block: Block) -> bool:
    """Whether no byte hints at anything but whole lines of text in ASCII."""
    signed = np.frombuffer(block.data, dtype=np.int8)
    return block.terminated and bool(signed.min() >= LINE_FEED) and bool((np.diff(block.ends) > 1).all())
