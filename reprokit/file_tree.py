"""Walking and removing folders that a program has filled, without recursion and within limits.

A program can nest folders deeper than Python recurses, name paths longer than the system opens, and make a
file larger than its disk. Whatever is not entered or read for such a reason is an entry that says so.

    >>> [entry.name for entry in walk(Path("runs/tiny/1"))]
    ['checkpoints', 'checkpoints/final_model.pt', 'metrics.jsonl']
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path

from reprokit.errors import CannotRunError

#: How the digest of a folder begins.
FOLDER = "folder:"


class Kind(StrEnum):
    """What an entry is."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SPECIAL = "special"
    OVER_LIMIT = "over limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkLimits:
    """How far a walk goes.

    Attributes:
        depth: Folders within each other.
        path_bytes: Of a name from the folder that is walked; a system opens about 4,096 with all above it.
        entries: Files and folders in all.
        file_bytes: Of one file.
        total_bytes: Of all files together.
    """

    depth: int = 64
    path_bytes: int = 2048
    entries: int = 200_000
    file_bytes: int = 64 << 30
    total_bytes: int = 256 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file or folder.

    Attributes:
        name: Its path from the folder that is walked, with ``/``; "" for that folder.
        kind: What it is; ``OVER_LIMIT`` is a file or folder that must not be read or entered.
        num_bytes: Size of a file as it says, 0 for all else.
        because: Why it must not be read or entered, or "".
    """

    name: str
    kind: Kind
    num_bytes: int = 0
    because: str = ""


_LIMITS = WalkLimits()


def walk(folder: Path, *, skipped: Collection[str] = (), limits: WalkLimits = _LIMITS) -> Iterator[Entry]:
    """Everything below a folder, sorted within each folder, a folder before its contents; no link followed.

    Args:
        folder: Where to begin; nothing comes of a folder that is not there.
        skipped: Names directly in it that are left out.
        limits: Beyond them, one entry of the kind ``OVER_LIMIT`` stands for all that is not looked at.
    """
    waiting = [("", 0)]
    num_entries = total_bytes = 0
    while waiting:
        place, depth = waiting.pop()
        room = limits.entries - num_entries
        try:
            with os.scandir(folder / place) as found:
                inside = [entry for entry in islice(found, room + 1) if place or entry.name not in skipped]
        except FileNotFoundError:
            continue  # it went away meanwhile
        except OSError as error:
            yield Entry(name=place, kind=Kind.OVER_LIMIT, because=f"cannot be read: {error.strerror}")
            continue
        below = []
        for one in sorted(inside[:room], key=lambda entry: entry.name):
            entry = _entry(one, place, depth=depth, limits=limits, total_bytes=total_bytes)
            total_bytes += entry.num_bytes if entry.kind is Kind.FILE else 0
            yield entry
            if entry.kind is Kind.FOLDER:
                below.append((entry.name, depth + 1))
        if len(inside) > room:
            because = f"with it there are more than {limits.entries:,} files and folders"
            yield Entry(name=place, kind=Kind.OVER_LIMIT, because=because)
            return
        num_entries += len(inside)
        waiting.extend(reversed(below))


def statuses(folder: Path, *, leave_out: Collection[str] = ()) -> dict[str, os.stat_result]:
    """Name → status of all that is below a folder of our own: no link is followed, and no limit set.

    Args:
        folder: Where to begin.
        leave_out: Names that are left out wherever they are, with what is below them.

    Raises:
        OSError: A folder cannot be read, or something went away meanwhile.
    """
    found, waiting = {}, [""]
    while waiting:
        place = waiting.pop()
        # names from an open folder are found in three quarters of the time that whole paths take
        opened = os.open(folder / place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(opened) as inside:
                for entry in inside:
                    if entry.name in leave_out:
                        continue
                    name = f"{place}/{entry.name}" if place else entry.name
                    found[name] = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(name)
        finally:
            os.close(opened)
    return found


def digest_of(folder: Path) -> str:
    """``folder:sha256:<64 hex digits>`` of all names below a folder, and of the bytes of its files.

    Raises:
        CannotRunError: Something in it is no plain file or folder, or cannot be read: it has no digest.
        OSError: There is no such folder, or a file went away.
    """
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    sha256 = hashlib.sha256()
    for entry in walk(folder):
        if entry.kind not in {Kind.FILE, Kind.FOLDER}:
            why = entry.because or "it is a link or a device"
            raise CannotRunError(f"the folder has no digest: {why}", where=str(folder / entry.name))
        content = "folder"
        if entry.kind is Kind.FILE:
            with (folder / entry.name).open("rb") as stream:
                content = hashlib.file_digest(stream, "sha256").hexdigest()
        name = os.fsencode(entry.name)
        sha256.update(f"{len(name)}:".encode() + name + f" {content}\n".encode())
    return f"{FOLDER}sha256:{sha256.hexdigest()}"


def remove(folder: Path) -> None:
    """Remove a folder with everything in it, however deep; links are removed, never followed.

    Each folder inside is first moved directly into ``folder``, so no path gets long and nothing recurses.

    Raises:
        OSError: Something cannot be removed; what is left lies in ``folder``.
    """
    if folder.is_symlink():
        raise OSError(errno.ENOTDIR, "a link, not a folder", str(folder))
    token, count = secrets.token_hex(8), 0
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        with contextlib.suppress(OSError):  # the next line says what is wrong
            place.chmod(stat.S_IRWXU)
        with os.scandir(place) as found:
            inside = list(found)
        for entry in inside:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)  # noqa: PTH108 - a hundred thousand of them
                continue
            count += 1
            target = folder / f".{token}-{count}"
            with contextlib.suppress(OSError):
                os.chmod(entry.path, stat.S_IRWXU)  # noqa: PTH101 - moving a folder writes into it
            Path(entry.path).rename(target)
            waiting.append(target)
        if place != folder:
            place.rmdir()
    folder.rmdir()


def _entry(one: os.DirEntry[str], place: str, *, depth: int, limits: WalkLimits, total_bytes: int) -> Entry:
    name, size, because = f"{place}/{one.name}" if place else one.name, 0, ""
    try:
        kind = _kind(one)
        if kind is Kind.FILE:
            size = one.stat(follow_symlinks=False).st_size
    except OSError as error:
        kind, because = Kind.OVER_LIMIT, f"cannot be read: {error.strerror}"
    if len(os.fsencode(name)) > limits.path_bytes:
        because = f"its path is longer than {limits.path_bytes:,} bytes"
    elif kind is Kind.FOLDER and depth + 1 >= limits.depth:
        because = f"more than {limits.depth} folders are nested in each other"
    elif size > limits.file_bytes:
        because = f"it says that it holds {size:,} bytes, and the limit is {limits.file_bytes:,}"
    elif total_bytes + size > limits.total_bytes:
        because = f"with it all files hold more than {limits.total_bytes:,} bytes"
    return Entry(name=name, kind=Kind.OVER_LIMIT if because else kind, num_bytes=size, because=because)


def _kind(one: os.DirEntry[str]) -> Kind:
    if one.is_symlink():
        return Kind.LINK
    if one.is_dir(follow_symlinks=False):
        return Kind.FOLDER
    return Kind.FILE if one.is_file(follow_symlinks=False) else Kind.SPECIAL
