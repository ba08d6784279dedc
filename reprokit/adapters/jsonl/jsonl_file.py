"""The bytes of a JSON Lines file, in blocks of whole lines; memory is a few blocks, whatever the file's size.

>>> with LineFile(Path("metrics.jsonl")) as lines:
...     block = lines.peek()
...     lines.advance(block, block.num_lines)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from reprokit.adapters.reading import open_file

LINE_FEED = 10
BLOCK_BYTES = 1 << 19
MAX_LINE_BYTES = 4 << 20
#: How far from the end of a file empty lines are looked for.
_END_BYTES = 1 << 16


class LineTooLongError(Exception):
    """A line is longer than 4 MiB; nothing after it is read."""

    def __init__(self, file: LineFile) -> None:
        self.file = file
        super().__init__(f"{file.path}:{file.line}")


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file."""

    data: bytes  # their bytes; every line but the last of a file ends with a line feed
    ends: npt.NDArray[np.intp]  # offset in `data` of the end of each line, its line feed left out
    terminated: bool  # whether the last line has its line feed

    @property
    def num_lines(self) -> int:
        return len(self.ends)

    def head(self, num_lines: int) -> Block:
        """The first lines of the block."""
        if num_lines == self.num_lines:
            return self
        return Block(self.data[: int(self.ends[num_lines - 1]) + 1], self.ends[:num_lines], terminated=True)

    def lines(self) -> list[bytes]:
        """The lines, line feeds left out."""
        found = self.data.split(b"\n")
        if self.terminated and found:
            found.pop()
        return found


class LineFile:
    """An open file and the position that its reader has reached, always the start of a line.

    Args:
        path: The file.
        block_bytes: How much is read at a time.
        cuts_blank_end: Whether empty lines at the end are left out; ``blank_end`` says how many they are.
    """

    def __init__(self, path: Path, *, block_bytes: int = BLOCK_BYTES, cuts_blank_end: bool = False) -> None:
        self.path = path
        self._block_bytes = block_bytes
        self.descriptor = open_file(path)
        self._identity = self._stat()
        self.size = self._identity[0]
        self.blank_end = self._cut_blank_end() if cuts_blank_end else 0
        self.offset = 0
        self.line = 1

    def __enter__(self) -> LineFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.descriptor)

    @property
    def changed(self) -> bool:
        """Whether someone wrote to the file since it was opened."""
        return self._stat() != self._identity

    def peek(self) -> Block:
        """The next whole lines; no line at the end of the file. The position stays.

        Raises:
            LineTooLongError: The next line is longer than 4 MiB.
        """
        wanted = self._block_bytes
        while True:
            data = os.pread(self.descriptor, min(wanted, max(0, self.size - self.offset)), self.offset)
            at_end = len(data) < wanted
            if at_end or b"\n" in data:
                return _whole_lines(data, keep_rest=at_end)
            if wanted > MAX_LINE_BYTES:
                raise LineTooLongError(self)
            wanted *= 2

    def advance(self, block: Block, num_lines: int) -> None:
        """Go past the first lines of a block that ``peek`` gave."""
        if num_lines:
            self.skip(min(int(block.ends[num_lines - 1]) + 1, len(block.data)), num_lines)

    def skip(self, num_bytes: int, num_lines: int) -> None:
        """Go past bytes that are known to be whole lines."""
        self.offset += num_bytes
        self.line += num_lines

    def rewind(self) -> None:
        """Go back to the start of the file."""
        self.offset, self.line = 0, 1

    def blocks(self) -> Iterator[Block]:
        """The rest of the file, as ``peek`` gives it. The position is that of the block given last."""
        while (block := self.peek()).num_lines:
            yield block
            self.advance(block, block.num_lines)

    def _cut_blank_end(self) -> int:
        """Let the file end with its last line that holds something; how many lines come after it."""
        begin = max(0, self.size - _END_BYTES)
        data = os.pread(self.descriptor, self.size - begin, begin)
        held = len(data.rstrip(b" \t\r\n"))
        end = data.find(b"\n", held) + 1
        if not held or not end or end == len(data):
            return 0
        rest = data[end:]
        self.size = begin + end
        return rest.count(b"\n") + (not rest.endswith(b"\n"))

    def _stat(self) -> tuple[int, int]:
        found = os.fstat(self.descriptor)
        return found.st_size, found.st_mtime_ns


def line_feeds(data: bytes) -> npt.NDArray[np.intp]:
    """Offsets of the line feeds."""
    return np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == LINE_FEED)


def _whole_lines(data: bytes, *, keep_rest: bool) -> Block:
    """Cut after the last line feed, unless the rest is the last line of the file."""
    ends = line_feeds(data)
    rest = len(data) - (int(ends[-1]) + 1 if len(ends) else 0)
    if not rest:
        return Block(data, ends, terminated=True)
    if keep_rest:
        return Block(data, np.append(ends, len(data)), terminated=False)
    return Block(data[: len(data) - rest], ends, terminated=True)
