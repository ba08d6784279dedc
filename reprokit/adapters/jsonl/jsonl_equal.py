"""How far two files go on being equal, byte for byte, at the speed of memory.

A stretch of equal bytes also ends where a byte below the line feed, a byte beyond ASCII or an empty line
turns up, so that NUL, invalid UTF-8 and blank lines are left to the parser.

    >>> equal_stretch(expected, actual, limit=1 << 28)
    Stretch(num_bytes=268435200, num_lines=869563)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reprokit.adapters.jsonl.jsonl_file import LINE_FEED, LineFile

SEGMENT_BYTES = 1 << 18  # two of them and a mask fit into a core's cache
_SEGMENTS_A_TURN = 32
_TWO_LINE_FEEDS = LINE_FEED << 8 | LINE_FEED
_MAX_WORKERS = 4


@dataclass(frozen=True, slots=True)
class Stretch:
    """Equal bytes at the two files' positions, cut after the last line feed among them."""

    num_bytes: int
    num_lines: int


@dataclass(frozen=True, slots=True)
class _Scan:
    num_bytes: int
    num_lines: int
    last_line_feed: int  # offset, -1 for none
    begins_with_line_feed: bool
    finished: bool


class _Buffers:
    """What one worker reads into; allocated once a stretch."""

    def __init__(self, num_bytes: int) -> None:
        self.left, self.right = bytearray(num_bytes), bytearray(num_bytes)
        self.views = memoryview(self.left), memoryview(self.right)
        self.bytes = np.frombuffer(self.left, dtype=np.uint8)
        self.mask = np.empty(num_bytes, dtype=np.bool_)


def equal_stretch(
    expected: LineFile, actual: LineFile, *, limit: int, segment_bytes: int = SEGMENT_BYTES
) -> Stretch:
    """Find how far two files are equal from where their readers stand, ``limit`` bytes at most.

    The first segment is looked at alone, so that a difference nearby costs little; then several threads share
    the work, because reading and comparing run outside Python's lock.
    """
    num_bytes = num_lines = 0
    end_of_lines = 0
    ended_with_line_feed = True  # the readers stand at the start of a line
    for scan in _scans(expected, actual, limit=limit, segment_bytes=segment_bytes):
        if scan.begins_with_line_feed and ended_with_line_feed:
            break
        if scan.last_line_feed >= 0:
            end_of_lines = num_bytes + scan.last_line_feed + 1
        num_bytes += scan.num_bytes
        num_lines += scan.num_lines
        ended_with_line_feed = end_of_lines == num_bytes
        if not scan.finished:
            break
    return Stretch(end_of_lines, num_lines)


def _scans(expected: LineFile, actual: LineFile, *, limit: int, segment_bytes: int) -> Iterator[_Scan]:
    """Scans of neighbouring ranges, in order."""
    starts = expected.offset, actual.offset
    files = expected.descriptor, actual.descriptor
    first = min(segment_bytes, limit)
    buffers = _Buffers(segment_bytes)
    if first <= 0:
        return
    yield _scan(files, starts, first, buffers)
    turn, workers = segment_bytes * _SEGMENTS_A_TURN, _num_workers()
    pool_of_buffers = [buffers, *(_Buffers(segment_bytes) for _ in range(workers - 1))]
    with ThreadPoolExecutor(workers) as pool:
        done = first
        while done < limit:
            ranges = [
                (done + i * turn, min(turn, limit - done - i * turn))
                for i in range(workers)
                if done + i * turn < limit
            ]
            yield from pool.map(
                lambda place, own: _scan(files, (starts[0] + place[0], starts[1] + place[0]), place[1], own),
                ranges,
                pool_of_buffers,
            )
            done = ranges[-1][0] + ranges[-1][1]


def _scan(files: tuple[int, int], starts: tuple[int, int], length: int, buffers: _Buffers) -> _Scan:
    """Compare one range segment by segment, up to the first that is unequal or not plain."""
    segment = len(buffers.left)
    num_lines, last, begins = 0, -1, False
    for offset in range(0, length, segment):
        size = min(segment, length - offset)
        for file, start, view in zip(files, starts, buffers.views, strict=True):
            if _fill(view[:size], file, start + offset) < size:
                return _Scan(offset, num_lines, last, begins, finished=False)
        if not _same(buffers, size) or not _is_plain(buffers.bytes[:size]):
            return _Scan(offset, num_lines, last, begins, finished=False)
        line_feed_first = buffers.left[0] == LINE_FEED
        if line_feed_first and offset > 0 and last == offset - 1:
            return _Scan(offset, num_lines, last, begins, finished=False)
        begins = begins or (offset == 0 and line_feed_first)
        mask = np.equal(buffers.bytes[:size], LINE_FEED, out=buffers.mask[:size])
        num_lines += int(np.count_nonzero(mask))
        found = buffers.left.rfind(b"\n", 0, size)
        last = offset + found if found >= 0 else last
    return _Scan(length, num_lines, last, begins, finished=True)


def _fill(view: memoryview, file: int, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(file, [view], offset)
    data = os.pread(file, len(view), offset)  # macOS has no preadv
    view[: len(data)] = data
    return len(data)


def _same(buffers: _Buffers, size: int) -> bool:
    if size == len(buffers.left):
        return buffers.left == buffers.right  # one memcmp
    return bytes(buffers.views[0][:size]) == bytes(buffers.views[1][:size])


def _is_plain(text: npt.NDArray[np.uint8]) -> bool:
    """Whether all bytes are ASCII from the line feed on, and no line feed follows another.

    Two neighbours are read as one little-endian number, the second as its upper half. If all such
    numbers are greater than that of two line feeds, and none is negative, then every second byte is
    at least a line feed and below 128, and no pair is two line feeds. With both ways to pair them,
    every byte but the first is a second one. That is two passes for three questions.
    """
    pairs = (text[start : start + (len(text) - start) // 2 * 2].view("<i2") for start in (0, 1))
    return LINE_FEED <= text[0] < 128 and all(not len(pair) or pair.min() > _TWO_LINE_FEEDS for pair in pairs)


def _num_workers() -> int:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(_MAX_WORKERS, usable))
