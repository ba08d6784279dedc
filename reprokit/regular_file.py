"""Reading files that the tool opens by itself: a pipe or a device of such a name is an error, never a wait.

>>> read_regular(Path("runs/.index.json"))
b'{…}'
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

# Windows has none of these, and its files are read as text unless it is told.
_FLAGS = ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
_NO_WAIT = sum(getattr(os, name, 0) for name in _FLAGS)


class NotRegularError(OSError):
    """What lies under a name is a pipe, a socket, a device or a folder."""


def read_regular(path: Path, *, most_bytes: int = -1) -> bytes:
    """The bytes of a regular file, or of what a link leads to.

    Args:
        path: The file.
        most_bytes: How many of them at most; all where negative.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    with open_regular(path) as stream:
        return stream.read(most_bytes)


def open_regular(path: Path) -> BufferedReader:
    """A regular file, open for reading.

    Raises:
        OSError: It cannot be opened, or is no regular file.
    """
    # Without waiting for a writer of a pipe, or for a device: only then can it be asked what it is.
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise NotRegularError(errno.EINVAL, "it is not a regular file", str(path))
