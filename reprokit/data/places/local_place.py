"""Reads a file of this machine, named by a ``file://`` URL; plain files only."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from reprokit.data.transfer import BLOCK_BYTES, PlaceRefusedError, Transfer


@contextmanager
def opened(url: str, *, offset: int) -> Iterator[Transfer]:
    """The file from an offset.

    Raises:
        PlaceRefusedError: It is not there, not a plain file, or on another host.
    """
    path = _path_of(url)
    try:
        # A pipe that someone put there would be waited for.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise PlaceRefusedError(f"{path} is not a plain file")
            stream.seek(offset)
            yield Transfer(begins_at=offset, total_bytes=status.st_size, blocks=_blocks(stream, path))
    except (IsADirectoryError, FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise PlaceRefusedError(f"{path} cannot be read: {error.strerror}") from error


def _path_of(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc not in {"", "localhost"}:
        raise PlaceRefusedError("a file:// URL names a path of this machine: file:///PATH")
    path = unquote(parts.path)
    if not path.startswith("/") or "\0" in path:
        raise PlaceRefusedError("a file:// URL names an absolute path: file:///PATH")
    return Path(path)


def _blocks(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    while True:
        try:
            block = stream.read(BLOCK_BYTES)
        except OSError as error:
            raise PlaceRefusedError(f"{path} cannot be read: {error.strerror}") from error
        if not block:
            return
        yield block
