"""Unpacking a bundle that anyone may have made: nothing is taken from it unchecked.

Only plain files come out, below the folder that was named, each with the digest that ``bundle.json`` lists.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from reprokit.errors import BundleError
from reprokit.features.bundles.archive_form import (
    BLOCK_BYTES,
    HEADER,
    UnpackLimits,
    digest_of_rest,
    problem_of_name,
)
from reprokit.features.bundles.manifest import MAX_BYTES, BundleManifest, FileEntry, read
from reprokit.layout import BUNDLE
from reprokit.workspace import cannot_write

_COMMENT_BYTES = len("sha256:") + 64
#: What to do about an archive that was altered.
ALTERED = "get the file again from whoever made it, and compare the digest that `reprokit bundle` printed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """What a bundle says of itself, and the digest of the archive."""

    manifest: BundleManifest
    sha256: str


def unpack(
    path: Path,
    folder: Path,
    *,
    sha256: str | None = None,
    limits: UnpackLimits = UnpackLimits(),  # noqa: B008 - frozen
) -> Unpacked:
    """Unpack a bundle into an empty folder: plain files only, each with the digest that the manifest names.

    Args:
        path: The bundle.
        folder: Where to; it exists and is empty.
        sha256: The digest that the archive must have, as ``reprokit bundle`` printed it; None for any.
        limits: What is unpacked at most.

    Raises:
        BundleError: It is no bundle, was altered, or holds anything that it should not.
        WorkspaceError: The folder cannot be written.
    """
    try:
        with path.open("rb") as stream:
            actual = digest_of_rest(stream)
            if sha256 is not None and actual != sha256:
                raise BundleError(
                    "this is another bundle", where=str(path), expected=sha256, actual=actual, fix=ALTERED
                )
            _must_be_unaltered(stream, path, limits=limits)
            stream.seek(0)
            size = os.fstat(stream.fileno()).st_size
            most = min(limits.total_bytes, limits.free_bytes + limits.ratio * size)
            with gzip.GzipFile(fileobj=stream, mode="rb") as plain:
                counted = _Counted(plain, most_bytes=most, where=str(path))
                manifest = _unpack(counted, folder, path=path, limits=limits)
                return Unpacked(manifest=manifest, sha256=actual)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BundleError(f"the archive is damaged: {error}", where=str(path), fix=ALTERED) from error
    except OSError as error:
        if error.filename in {None, str(path)}:
            what = f"the bundle cannot be read: {error.strerror or error}"
            raise BundleError(what, where=str(path)) from error
        raise cannot_write(folder, error) from error


class _Counted(io.RawIOBase):
    """A stream that refuses to give more than so many bytes."""

    def __init__(self, stream: gzip.GzipFile, *, most_bytes: int, where: str) -> None:
        super().__init__()
        self._stream, self._left, self._most, self._where = stream, most_bytes, most_bytes, where

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(min(size, BLOCK_BYTES) if size >= 0 else BLOCK_BYTES)
        self._left -= len(block)
        if self._left < 0:
            raise BundleError(
                f"it unpacks to more than {self._most:,} bytes", where=self._where, fix="do not unpack it"
            )
        return block


def _must_be_unaltered(stream: IO[bytes], path: Path, *, limits: UnpackLimits) -> None:
    head = stream.read(len(HEADER) + _COMMENT_BYTES + 1)
    digest = head[len(HEADER) : -1]
    if not head.startswith(HEADER[:2]) or len(head) < len(HEADER) + _COMMENT_BYTES + 1:
        raise BundleError("this is not a bundle", where=str(path), expected="a .tar.gz of `reprokit bundle`")
    if head != HEADER + digest + b"\0" or digest != digest_of_rest(stream).encode():
        what = "the archive is damaged or was altered, or `reprokit bundle` did not write it"
        name = _first_altered(stream, limits=limits)  # for a person: nothing is decided by it
        where = f"{path}: {name[:200]!a}" if name else str(path)
        raise BundleError(what, where=where, fix=ALTERED)


def _first_altered(stream: IO[bytes], *, limits: UnpackLimits) -> str:
    """The first member that is not what the manifest lists, or in which the archive breaks; "" for none."""
    name, digests = "", dict[str, str]()
    try:
        stream.seek(0)
        most = min(limits.total_bytes, limits.free_bytes)
        with gzip.GzipFile(fileobj=stream, mode="rb") as plain:
            counted = _Counted(plain, most_bytes=most, where="")
            with tarfile.open(fileobj=counted, mode="r|") as tar:
                files: Mapping[str, FileEntry] = {}
                for member in tar:
                    if member.isdir():
                        continue  # packed again by another tool
                    name, content = member.name.removeprefix("./"), tar.extractfile(member)
                    if content is None:
                        return name
                    if name == BUNDLE and not files:
                        files = read(content.read(MAX_BYTES), where="").files
                        continue
                    sha = hashlib.sha256()
                    for block in _blocks(content):
                        sha.update(block)
                    digests[name] = f"sha256:{sha.hexdigest()}"
                    if files and _is_altered(name, digests, files):
                        return name
    except (BundleError, tarfile.TarError, EOFError, zlib.error, OSError, ValueError):
        return name
    return next((name for name in digests if files and _is_altered(name, digests, files)), "")


def _is_altered(name: str, digests: Mapping[str, str], files: Mapping[str, FileEntry]) -> bool:
    return name not in files or files[name].sha256 != digests[name]


def _unpack(stream: _Counted, folder: Path, *, path: Path, limits: UnpackLimits) -> BundleManifest:
    manifest: BundleManifest | None = None
    left: dict[str, FileEntry] = {}
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            where = f"{path}: {member.name[:200]!a}"
            if problem := _problem_of(member, folder, limits=limits):
                raise BundleError(f"the bundle holds what none should: {problem}", where=where)
            content = tar.extractfile(member)
            if content is None:
                raise BundleError("the bundle holds what none should: not a plain file", where=where)
            if manifest is None:
                manifest = _manifest(member, content, where=str(path), limits=limits)
                left = dict(manifest.files)
                (folder / BUNDLE).write_bytes(manifest.to_bytes())
                continue
            entry = left.pop(member.name, None)
            if entry is None:
                raise BundleError("the manifest does not list this file, or it is there twice", where=where)
            _write_file(folder, member, content, entry, where=where)
    while block := stream.read(BLOCK_BYTES):
        if block.strip(b"\0"):
            raise BundleError("something follows the end of the archive", where=str(path))
    if manifest is None or left:
        missing = next(iter(left), BUNDLE)
        raise BundleError("a file that the manifest lists is missing", where=f"{path}: {missing!a}")
    return manifest


def _problem_of(member: tarfile.TarInfo, folder: Path, *, limits: UnpackLimits) -> str:
    """Why a member is not unpacked; "" where it may be."""
    if member.type not in {tarfile.REGTYPE, tarfile.AREGTYPE} or member.issparse():
        return "not a plain file"
    if member.mode not in {0o644, 0o755}:
        return f"a file with the mode {member.mode:o}"
    return problem_of_name(member.name, limits) or _problem_for_python(member, folder)


def _problem_for_python(member: tarfile.TarInfo, folder: Path) -> str:
    """The same by the standard library's own rules, where it has them."""
    second_opinion = getattr(tarfile, "data_filter", None)  # Python 3.11.4; Debian 12 has 3.11.2
    if second_opinion is None:
        return ""
    try:
        second_opinion(member, str(folder))
    except tarfile.TarError as error:
        return str(error)
    except NotADirectoryError:  # since Python 3.14 it looks the name up on the disk
        return "one name is that of a file and of a folder"
    return ""


def _manifest(
    member: tarfile.TarInfo, content: IO[bytes], *, where: str, limits: UnpackLimits
) -> BundleManifest:
    if member.name != BUNDLE or member.size > MAX_BYTES:
        raise BundleError(f"the first file is not {BUNDLE}", where=where)
    manifest = read(content.read(), where=f"{where}: {BUNDLE}")
    if len(manifest.files) > limits.entries:
        raise BundleError(f"it holds more than {limits.entries:,} files", where=where)
    return manifest


def _write_file(
    folder: Path, member: tarfile.TarInfo, content: IO[bytes], entry: FileEntry, *, where: str
) -> None:
    target = folder / member.name
    flags, sha = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, hashlib.sha256()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, flags, 0o600)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise BundleError(
            "one name is that of a file and of a folder, or of two files", where=where
        ) from error
    with os.fdopen(descriptor, "wb") as stream:
        for block in _blocks(content):
            sha.update(block)
            stream.write(block)
    target.chmod(0o755 if entry.executable else 0o644)
    actual = f"sha256:{sha.hexdigest()}"
    same = (actual, member.size, member.mode == 0o755) == (entry.sha256, entry.bytes, entry.executable)
    if not same:
        raise BundleError(
            "this file is not the one that the manifest lists",
            where=where,
            expected=f"{entry.sha256}, {entry.bytes:,} bytes",
            actual=f"{actual}, {member.size:,} bytes",
            fix=ALTERED,
        )


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    while block := stream.read(BLOCK_BYTES):
        yield block
