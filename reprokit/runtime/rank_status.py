"""Where each rank is: written by the ranks before and after every collective, read by who watches them.

    >>> with StatusWriter(meeting, rank=1).waiting("gradients", update=7): ...
    >>> read(meeting, rank=1)
    Status(number=13, name='gradients', update=7, waiting=True, since_s=5121.7, before='measures of …')

One small file a rank, overwritten in one call. It has a checksum: what was read while it was written is read
again. It is there too where a rank is stopped or was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from reprokit.errors import CannotRunError

#: The first and the last collective, which belong to no update.
START, END = "start", "end"
_BYTES = 512
_CHECKSUM_BYTES = 4
_MOST_READS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How far one rank is.

    Attributes:
        number: Of the collective that it came to last, from 1; 0 before the first.
        name: Of that collective.
        update: Of the training, from 1, to which it belongs.
        waiting: Whether the rank is still in it.
        since_s: When it came to it, or left it: ``time.monotonic``.
        before: The place of the collective before it.
    """

    number: int = 0
    name: str = ""
    update: int = 0
    waiting: bool = False
    since_s: float = 0.0
    before: str = ""

    @property
    def place(self) -> str:
        """``gradients of update 7``; ``start`` and ``end`` belong to none."""
        return self.name if self.name in {"", START, END} else f"{self.name} of update {self.update}"

    @property
    def is_end(self) -> bool:
        """Whether all ranks met at the end of their training."""
        return self.name == END and not self.waiting


class StatusWriter:
    """Writes one rank's status.

    Args:
        meeting: The folder where the ranks meet.
        rank: Number of this one.
    """

    def __init__(self, meeting: Path, *, rank: int) -> None:
        self._file = os.open(_path(meeting, rank), os.O_WRONLY | os.O_CREAT, 0o600)
        self._last = Status()

    @contextlib.contextmanager
    def waiting(self, name: str, *, update: int) -> Iterator[None]:
        """Inside, the rank is in a collective. Where that fails, the status stays as it is."""
        before = self._last
        self._write(
            Status(number=before.number + 1, name=name, update=update, before=before.place, waiting=True)
        )
        yield
        self._write(replace(self._last, waiting=False))

    def _write(self, status: Status) -> None:
        self._last = replace(status, since_s=time.monotonic())
        text = json.dumps(asdict(self._last)).encode().ljust(_BYTES)
        os.pwrite(self._file, _checksum(text) + text, 0)


def read(meeting: Path, *, rank: int) -> Status:
    """The status of a rank; that of one before its first collective where there is none yet.

    Raises:
        CannotRunError: The file is not what a rank writes.
    """
    for _ in range(_MOST_READS):
        try:
            content = _path(meeting, rank).read_bytes()
        except FileNotFoundError:
            return Status()
        checksum, text = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
        if not content:
            return Status()
        if checksum == _checksum(text):
            return Status(**json.loads(text))
        time.sleep(0.001)
    raise CannotRunError(f"the status of rank {rank} cannot be read", where=str(_path(meeting, rank)))


def tell_error(meeting: Path, *, rank: int, error: str) -> None:
    """Leave the reason for which a rank ends, for who watches it."""
    _path(meeting, rank).with_suffix(".error").write_text(error, encoding="utf-8")


def read_error(meeting: Path, *, rank: int) -> str:
    """The reason that a rank left; "" where it left none."""
    path = _path(meeting, rank).with_suffix(".error")
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _checksum(text: bytes) -> bytes:
    return zlib.crc32(text).to_bytes(_CHECKSUM_BYTES, "big")


def _path(meeting: Path, rank: int) -> Path:
    return meeting / f"status-{rank}"
