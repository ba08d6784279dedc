"""Unpacks zip and tar archives of strangers: plain files and folders inside one new folder, within limits.

Anything else in it (a link, a device, a path that leads out, a name that stands there twice) refuses the
whole archive. The limits hold for the bytes that come out, whatever the archive says of itself.
"""

from __future__ import annotations

import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from reprokit.data.transfer import BLOCK_BYTES
from reprokit.errors import DataError

_UNWANTED = re.compile(r"[\x00-\x1f\x7f\\]")
_LONGEST_NAME_BYTES = 1024
_MOST_DEPTH = 32
#: What a damaged archive makes the libraries raise.
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    ValueError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """How much may come out of an archive.

    Attributes:
        files: Files and folders.
        ratio: Bytes out for each byte of the archive.
        free_bytes: Bytes that may come out whatever the ratio is.
    """

    files: int = 200_000
    ratio: int = 200
    free_bytes: int = 64 << 20

    def most_bytes(self, archive: Path) -> int:
        return max(self.free_bytes, self.ratio * archive.stat().st_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveMember:
    """A file in an archive, its bytes to be read once; or a folder, with None."""

    name: str
    blocks: Iterator[bytes] | None


LIMITS = ArchiveLimits()


def unpack(archive: Path, folder: Path, *, kind: str, limits: ArchiveLimits = LIMITS) -> None:
    """Write the members of an archive into an empty folder.

    Raises:
        DataError: The archive is damaged, too large, or holds what is never unpacked.
        OSError: The folder cannot be written.
    """

    def write(member: ArchiveMember) -> None:
        path = folder / member.name
        if member.blocks is None:
            path.mkdir(parents=True, exist_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as stream:
            for block in member.blocks:
                stream.write(block)
        path.chmod(0o444)

    each(archive, write, kind=kind, limits=limits)


def first_difference(archive: Path, folder: Path, *, kind: str, limits: ArchiveLimits = LIMITS) -> str:
    """What in a folder is not as the archive has it, in words; "" where all of it is.

    Raises:
        DataError: The archive itself cannot be read.
        OSError: The folder cannot be read.
    """
    expected: set[str] = set()
    differing: list[str] = []

    def compare(member: ArchiveMember) -> None:
        parts = Path(member.name).parts
        expected.update("/".join(parts[: index + 1]) for index in range(len(parts)))
        path = folder / member.name
        if member.blocks is None:
            if path.is_symlink() or not path.is_dir():
                differing.append(f"{member.name} is not there")
        elif not _is_plain_file(path):
            differing.append(f"{member.name} is not there")
        elif not _has_content(path, member.blocks):
            differing.append(f"{member.name} has other content")

    each(archive, compare, kind=kind, limits=limits)
    added = sorted({path.relative_to(folder).as_posix() for path in folder.rglob("*")} - expected)
    return next(iter([*differing, *(f"{name} is not in the archive" for name in added)]), "")


def each(archive: Path, do: Callable[[ArchiveMember], None], *, kind: str, limits: ArchiveLimits) -> None:
    """Every member in the order of the archive, each read to its end before the next.

    Raises:
        DataError: The archive is damaged, too large, or holds what is never unpacked.
    """
    members = _of_zip if kind == "zip" else _of_tar
    seen: dict[str, bool] = {}
    left = limits.most_bytes(archive)

    def counted(stream: IO[bytes]) -> Iterator[bytes]:
        nonlocal left
        while block := stream.read(BLOCK_BYTES):
            left -= len(block)
            if left < 0:
                most = limits.most_bytes(archive)
                raise DataError(
                    "the archive unpacks to more than it may", where=str(archive), expected=f"{most:,} bytes"
                )
            yield block

    with _damage_named(archive), members(archive) as found:
        for name, stream in found:
            clean = _clean(name, archive=archive)
            _must_be_new(clean, seen, is_file=stream is not None, archive=archive)
            if len(seen) > limits.files:
                raise DataError(
                    "the archive holds more files than it may",
                    where=str(archive),
                    expected=f"{limits.files:,}",
                )
            if clean:
                do(ArchiveMember(name=clean, blocks=None if stream is None else counted(stream)))


def _clean(name: str, *, archive: Path) -> str:
    """The name without ``./`` and a last ``/``; refused where it leads out or cannot be shown."""
    parts = [part for part in name.split("/") if part not in {"", "."}]
    leads_out = name.startswith("/") or ".." in parts or re.match(r"[A-Za-z]:", name)
    if leads_out or _UNWANTED.search(name) or len(name.encode(errors="replace")) > _LONGEST_NAME_BYTES:
        raise DataError(f"the archive holds a path that is not unpacked: {name[:200]!r}", where=str(archive))
    if len(parts) > _MOST_DEPTH:
        raise DataError(f"the archive nests deeper than {_MOST_DEPTH} folders", where=str(archive))
    return "/".join(parts)


def _must_be_new(name: str, seen: dict[str, bool], *, is_file: bool, archive: Path) -> None:
    """Refuse a file that stands there twice, or is a folder elsewhere in the archive."""
    parts = name.split("/")
    above = ["/".join(parts[:index]) for index in range(1, len(parts))]
    if (name in seen and (is_file or seen[name])) or any(seen.get(folder) for folder in above):
        raise DataError(f"the archive holds {name[:200]!r} twice", where=str(archive))
    seen.update(dict.fromkeys(above, False))
    seen[name] = is_file


@contextmanager
def _of_tar(archive: Path) -> Iterator[Iterator[tuple[str, IO[bytes] | None]]]:
    def members(file: tarfile.TarFile) -> Iterator[tuple[str, IO[bytes] | None]]:
        for member in file:
            if member.isdir():
                yield member.name, None
            elif member.isfile():
                yield member.name, file.extractfile(member)
            else:
                raise DataError(_special(member.name), where=str(archive))

    with tarfile.open(archive, "r:*") as file:
        yield members(file)


@contextmanager
def _of_zip(archive: Path) -> Iterator[Iterator[tuple[str, IO[bytes] | None]]]:
    def members(file: zipfile.ZipFile) -> Iterator[tuple[str, IO[bytes] | None]]:
        for member in file.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
                raise DataError(_special(member.filename), where=str(archive))
            if member.is_dir():
                yield member.filename, None
            else:
                with file.open(member) as stream:
                    yield member.filename, stream

    with zipfile.ZipFile(archive) as file:
        yield members(file)


@contextmanager
def _damage_named(archive: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise DataError(
            f"the archive cannot be unpacked: {type(error).__name__}: {str(error)[:200]}",
            where=str(archive),
            fix="declare the kind of archive that it is: unpack: zip or unpack: tar",
        ) from error


def _special(name: str) -> str:
    return f"the archive holds a link or a device, which is not unpacked: {name[:200]!r}"


def _is_plain_file(path: Path) -> bool:
    return not path.is_symlink() and path.is_file()


def _has_content(path: Path, blocks: Iterator[bytes]) -> bool:
    """Whether a file has these bytes and no others; all blocks are read."""
    same = True
    with path.open("rb") as stream:
        for block in blocks:
            same = stream.read(len(block)) == block and same
        return same and not stream.read(1)
