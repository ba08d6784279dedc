"""The run folder as a backend uses it: two log files, one folder to write to, free disk space."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import BinaryIO

from reprokit.layout import OUTPUT, STDERR, STDOUT
from reprokit.redaction import redact_text

_TAIL_BYTES = 64 << 10


def open_logs(run_dir: Path) -> tuple[BinaryIO, BinaryIO]:
    """Open the run's two log files, empty and unbuffered, and see that the program can write too.

    Raises:
        OSError: The folder or its ``output`` cannot be written.
    """
    output = run_dir / OUTPUT
    if not os.access(output, os.W_OK | os.X_OK):
        read_only = os.statvfs(output).f_flag & os.ST_RDONLY  # raises if the folder is not there
        number = errno.EROFS if read_only else errno.EACCES
        raise OSError(number, os.strerror(number), str(output))
    stdout = (run_dir / STDOUT).open("wb", buffering=0)
    try:
        return stdout, (run_dir / STDERR).open("wb", buffering=0)
    except BaseException:
        stdout.close()
        raise


def stderr_tail(run_dir: Path) -> str:
    """The last 64 KiB of ``stderr.log`` as text without secrets; what is no UTF-8 is replaced."""
    try:
        with (run_dir / STDERR).open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return redact_text(stream.read().decode("utf-8", errors="replace"))
    except OSError:
        return ""


def free_bytes(run_dir: Path) -> int | None:
    """Space that a program may still fill where the run folder lies; 0 when out of inodes."""
    try:
        disk = os.statvfs(run_dir)
    except OSError:
        return None
    out_of_inodes = disk.f_files > 0 and disk.f_favail == 0
    return 0 if out_of_inodes else disk.f_bavail * disk.f_frsize
