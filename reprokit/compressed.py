"""Files of a golden that are kept compressed: ``metrics.jsonl.gz`` in the place of ``metrics.jsonl``.

Whoever reads a golden names the plain file; it is unpacked into a temporary file, never into memory. Digests
are of the plain bytes.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

SUFFIX = ".gz"
#: The largest file that is unpacked; a golden of that size is of no use in git.
MOST_BYTES = 1 << 30
_BLOCK_BYTES = 1 << 20


def stored(path: Path) -> Path:
    """The file that holds the bytes of a plain file: itself, or the compressed one in its place."""
    packed = path.with_name(path.name + SUFFIX)
    return packed if packed.is_file() and not path.exists() and not packed.is_symlink() else path


@contextmanager
def open_stored(path: Path, *, most_bytes: int = MOST_BYTES) -> Iterator[IO[bytes]]:
    """The bytes of a plain file, by its own name, whether it is kept compressed or not.

    Raises:
        OSError: It cannot be read, is damaged, or unpacks to more than ``most_bytes``.
    """
    kept = stored(path)
    if kept == path:
        with path.open("rb") as stream:
            yield stream
        return
    with tempfile.TemporaryFile() as unpacked:
        for block in _blocks(kept, most_bytes):
            unpacked.write(block)
        unpacked.seek(0)
        yield unpacked


def descriptor_of(path: Path) -> int:
    """The same as an open file descriptor, which the caller closes."""
    with open_stored(path) as stream:
        return os.dup(stream.fileno())


def sha256_of_stored(path: Path, *, most_bytes: int = MOST_BYTES) -> str:
    """``sha256:…`` of a file's plain bytes.

    Raises:
        OSError: As for ``open_stored``.
    """
    digest = hashlib.sha256()
    with open_stored(path, most_bytes=most_bytes) as stream:
        while block := stream.read(_BLOCK_BYTES):
            digest.update(block)
    return f"sha256:{digest.hexdigest()}"


def compress(path: Path) -> Path:
    """Put a compressed file in the place of a plain one; the same bytes from the same bytes.

    Raises:
        OSError: One of them cannot be read or written.
    """
    packed = path.with_name(path.name + SUFFIX)
    with (
        path.open("rb") as plain,
        packed.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=9, mtime=0) as target,
    ):
        while block := plain.read(_BLOCK_BYTES):
            target.write(block)
    path.unlink()
    return packed


def unpack(path: Path) -> None:
    """Put the plain file back in the place of a compressed one, if that is there.

    Raises:
        OSError: As for ``open_stored``.
    """
    kept = stored(path)
    if kept == path:
        return
    with path.open("wb") as target:
        target.writelines(_blocks(kept, MOST_BYTES))
    kept.unlink()


def _blocks(packed: Path, most_bytes: int) -> Iterator[bytes]:
    size = 0
    if not packed.stat().st_size:
        raise OSError(errno.EIO, "the compressed file is damaged: it is empty", str(packed))
    try:
        with gzip.open(packed, "rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                size += len(block)
                if size > most_bytes:
                    raise OSError(errno.EFBIG, f"it unpacks to more than {most_bytes:,} bytes", str(packed))
                yield block
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise OSError(errno.EIO, f"the compressed file is damaged: {error}", str(packed)) from error
