"""A download under way: a file that grows next to its place, is hashed meanwhile, renamed once whole."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from reprokit import file_tree
from reprokit.data.transfer import BLOCK_BYTES
from reprokit.errors import DiskFullError, WorkspaceError
from reprokit.workspace import cannot_write


class PartialFile:
    """The bytes that are there already; a killed process leaves them, and the next one appends to them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.num_bytes = 0

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _remove_what_is_no_file(self._path)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._stream = os.fdopen(os.open(self._path, flags, 0o600), "r+b", buffering=0)
            self._sha = hashlib.sha256()
            while block := self._stream.read(BLOCK_BYTES):
                self._sha.update(block)
                self.num_bytes += len(block)
        except OSError as error:
            raise cache_unwritable(self._path, error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    @property
    def sha256(self) -> str:
        return f"sha256:{self._sha.hexdigest()}"

    def append(self, block: bytes) -> None:
        """Write bytes at the end; where the disk is full, what there is of the file is removed."""
        view = memoryview(block)
        try:
            while view:  # an unbuffered write may take less than it is given
                view = view[self._stream.write(view) :]
        except OSError as error:
            self.discard()
            raise cache_unwritable(self._path, error) from error
        self._sha.update(block)
        self.num_bytes += len(block)

    def restart(self) -> None:
        """Begin at the first byte again."""
        self._stream.seek(0)
        self._stream.truncate()
        self._sha, self.num_bytes = hashlib.sha256(), 0

    def must_fit(self, num_bytes: int) -> None:
        """Raise ``DiskFullError`` where the disk has no room for the rest of a file of this size."""
        needed, free = num_bytes - self.num_bytes, shutil.disk_usage(self._path.parent).free
        if needed > free:
            self.discard()
            raise DiskFullError(
                "no space left on the disk",
                where=str(self._path.parent),
                expected=f"{needed:,} bytes free",
                actual=f"{free:,}",
                fix="free some space, or name another folder with REPROKIT_CACHE",
            )

    def become(self, final: Path) -> None:
        """Flush to the disk, make it read-only, and give it its name."""
        try:
            os.fsync(self._stream.fileno())
            os.fchmod(self._stream.fileno(), 0o444)
            self._path.replace(final)
        except OSError as error:
            self.discard()
            raise cache_unwritable(final, error) from error

    def discard(self) -> None:
        """Remove it."""
        with contextlib.suppress(OSError):
            self._path.unlink()


def _remove_what_is_no_file(path: Path) -> None:
    """Remove a link, also a hard one, a folder or a pipe: no download leaves any."""
    if not os.path.lexists(path):
        return
    status = path.lstat()
    if stat.S_ISDIR(status.st_mode):
        file_tree.remove(path)
    elif not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        path.unlink()


def cache_unwritable(path: Path, error: OSError) -> WorkspaceError:
    """The error for a failed write into the cache."""
    found = cannot_write(path, error)
    kind = type(found)
    fix = "free some space" if kind is DiskFullError else "make the folder writable for this user"
    return kind(found.what, where=str(path), fix=f"{fix}, or name another folder with REPROKIT_CACHE")
