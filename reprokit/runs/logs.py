"""Takes the secrets that the program printed out of a run's logs, when its folder is closed.

Files that the program wrote itself are evidence, byte for byte, and are left as they are.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from reprokit.layout import STDERR, STDOUT
from reprokit.redaction import without
from reprokit.workspace import cannot_write

_PART_BYTES = 4 << 20
_LONGEST_LINE = 1 << 20
#: A program can make its log larger than the disk; what is between both ends of such a one is left out.
_MAX_LOG_BYTES = 256 << 20
_KEY_BEGINS, _KEY_ENDS = b"-----BEGIN", b"-----END"


def redact_logs(run_dir: Path, secrets: Sequence[str] = ()) -> None:
    """Take what looks like a secret, and values known to be one, out of ``stdout.log`` and ``stderr.log``."""
    for name in (STDOUT, STDERR):
        path = run_dir / name
        try:
            if path.is_file() and not path.is_symlink():
                if path.stat().st_size > _MAX_LOG_BYTES:
                    _replace(path, _ends_of(path))
                _redact(path, secrets)
        except OSError as error:
            raise cannot_write(path, error) from error


def _redact(path: Path, secrets: Sequence[str]) -> None:
    with path.open("rb") as log:
        clean = all(_redacted(part, secrets) == part for part in _parts(log))
        if clean:
            return
        log.seek(0)
        _replace(path, (_redacted(part, secrets) for part in _parts(log)))


def _ends_of(path: Path) -> Iterator[bytes]:
    """The first and last part of a log, with a line between them that says how much was left out."""
    half = _MAX_LOG_BYTES // 2
    with path.open("rb") as log:
        size = log.seek(0, os.SEEK_END)
        for begin in (0, size - half):
            if begin:
                yield f"\n[reprokit: {size - 2 * half:,} bytes left out]\n".encode()
            log.seek(begin)
            for _ in range(half // _PART_BYTES):
                yield log.read(_PART_BYTES)


def _replace(path: Path, parts: Iterable[bytes]) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as copy:
            copy.writelines(parts)
        Path(temporary).chmod(path.stat().st_mode & 0o777)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def _redacted(part: bytes, secrets: Sequence[str]) -> bytes:
    return without(part.decode("utf-8", "surrogateescape"), secrets).encode("utf-8", "surrogateescape")


def _parts(log: BinaryIO) -> Iterator[bytes]:
    """A log in whole lines, some megabytes at a time; no private key is cut in two."""
    part = b""
    while block := log.read(_PART_BYTES):
        part += block + log.readline(_LONGEST_LINE)
        open_key = part.rfind(_KEY_BEGINS) > part.rfind(_KEY_ENDS)
        if not open_key or len(part) > 2 * _PART_BYTES:
            yield part
            part = b""
    if part:
        yield part
