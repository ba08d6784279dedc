"""The files of a folder, or of a zip or tar archive: what images and documents lie in."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reprokit import file_tree
from reprokit.data import archives
from reprokit.errors import CannotRunError, DataError, UsageError
from reprokit.workspace import sha256_of

#: How the names of archives end that are read as a folder.
ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def is_archive(path: Path) -> bool:
    """Whether a file is a zip or tar archive, whatever it is called."""
    return path.is_file() and (zipfile.is_zipfile(path) or tarfile.is_tarfile(path))


def each_file(place: Path, do: Callable[[str, bytes], None]) -> None:
    """Call ``do`` with the path below the folder and the content of each file, in any order.

    Raises:
        UsageError: It is neither a folder nor an archive, or something in it is no plain file or folder.
        OSError: A file cannot be read.
    """
    if place.is_dir():
        for entry in file_tree.walk(place):
            if entry.kind is file_tree.Kind.FILE:
                do(entry.name, (place / entry.name).read_bytes())
            elif entry.kind is not file_tree.Kind.FOLDER:
                why = entry.because or "it is a link or a device"
                raise UsageError(f"the folder cannot be read: {why}", where=str(place / entry.name))
        return
    if not is_archive(place):
        raise UsageError("neither a folder nor a zip or tar archive", where=str(place))

    def each(member: archives.ArchiveMember) -> None:
        if member.blocks is not None:
            do(member.name, b"".join(member.blocks))

    try:
        archives.each(place, each, kind="zip" if zipfile.is_zipfile(place) else "tar", limits=archives.LIMITS)
    except DataError as error:
        raise UsageError(error.what, where=error.where) from error


def digest_and_size(path: Path) -> dict[str, Any]:
    """``sha256`` and ``bytes`` of a file; of a folder, the digest of all below it and the bytes of its files.

    Raises:
        UsageError: Something in a folder is no plain file.
    """
    if not path.is_dir():
        return {"sha256": sha256_of(path), "bytes": path.stat().st_size}
    try:
        sizes = (entry.num_bytes for entry in file_tree.walk(path))
        return {"sha256": file_tree.digest_of(path), "bytes": sum(sizes)}
    except CannotRunError as error:
        raise UsageError(error.what, where=error.where) from error
