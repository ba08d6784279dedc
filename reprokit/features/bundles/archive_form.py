"""The form of a bundle's archive: a ``.tar.gz`` of plain files, whose header holds the digest of the rest.

The comment in the gzip header is the SHA-256 of all bytes after the header, so that one changed byte anywhere
is found before anything is unpacked, also one that decompression would ignore. The first member is
``bundle.json``, which lists every other one.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from reprokit.layout import BUNDLE

#: How the name of a bundle ends.
SUFFIXES = (".tar.gz", ".tgz")
#: Folders and files at the top of a bundle.
TOP = (
    *("README.md", "ro-crate-metadata.json"),
    *("data", "golden", "images", "package", "reports", "runs", "source", "vendored"),
)
# RFC 1952: magic, deflate, FCOMMENT, no time, best compression, no operating system named.
HEADER = b"\x1f\x8b\x08\x10\x00\x00\x00\x00\x02\xff"
BLOCK_BYTES = 1 << 20
_NAME = re.compile(r"[^\x00-\x1f\x7f\\]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackLimits:
    """What is unpacked at most, so that a small file cannot fill a disk.

    Attributes:
        entries: Files.
        total_bytes: Of all files together.
        free_bytes: What may be unpacked whatever the size of the archive.
        ratio: How many times the size of the archive may be unpacked beyond that.
        name_bytes: Of one name.
        depth: Folders within each other.
    """

    entries: int = 100_000
    total_bytes: int = 32 << 30
    free_bytes: int = 512 << 20
    ratio: int = 100
    name_bytes: int = 1024
    depth: int = 32


def problem_of_name(name: str, limits: UnpackLimits) -> str:
    """Why a file of this name cannot be in a bundle; "" where it can."""
    path = PurePosixPath(name)
    parts = name.split("/")
    if path.is_absolute() or any(part in {"", ".", ".."} for part in parts):
        return "a name that leads out of the bundle"
    if not _NAME.fullmatch(name) or len(os.fsencode(name)) > limits.name_bytes or len(parts) > limits.depth:
        return "a name with unusual characters, or one that is too long"
    if any(part.lower().rstrip(". ") == ".git" for part in parts):
        return "a git repository, which can name programs to run"
    return "" if parts[0] in TOP or name == BUNDLE else "a name that no bundle has at its top"


def digest_of_rest(stream: IO[bytes]) -> str:
    """SHA-256 from where a stream stands to its end; it stands there again afterwards."""
    start, sha = stream.tell(), hashlib.sha256()
    while block := stream.read(BLOCK_BYTES):
        sha.update(block)
    stream.seek(start)
    return f"sha256:{sha.hexdigest()}"
