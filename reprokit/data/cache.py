"""The data that was fetched on this machine: one file a digest, shared by all recipes and projects.

``<cache>/data/<sha256>`` is a file as it was fetched, ``<cache>/data/<sha256>.<kind>`` the folder that an
archive was unpacked into. Both appear whole. What was changed since is found by ``check``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote, urlsplit

from reprokit.data import archives
from reprokit.data.downloading import OnProgress, download
from reprokit.data.partial_file import cache_unwritable
from reprokit.data.sources import DataSource, protocol_of
from reprokit.errors import DataError

#: By whether a step makes the file.
_NOT_YET = {False: "not fetched yet", True: "not prepared yet"}


class SourceStatus(StrEnum):
    """What the cache has of a source."""

    READY = "ready"
    MISSING = "missing"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """What the cache has of one source.

    Attributes:
        path: Where it is, or would be: what a program is given.
        problem: What is not as declared, or "".
    """

    source: DataSource
    status: SourceStatus
    path: Path
    problem: str = ""


def place_of(source: DataSource, *, cache: Path) -> Path:
    """The file, or the folder of an archive that is unpacked."""
    return cache / "data" / (f"{source.hex_digits}.{source.unpack}" if source.unpack else source.hex_digits)


def check(source: DataSource, *, cache: Path) -> SourceState:
    """Read all that the cache has of a source, and compare it with the declaration."""
    file, place = cache / "data" / source.hex_digits, place_of(source, cache=cache)

    def state(status: SourceStatus, problem: str = "") -> SourceState:
        return SourceState(source=source, status=status, path=place, problem=problem)

    if not os.path.lexists(file):
        return state(SourceStatus.MISSING, _NOT_YET[bool(source.prepared_by)])
    if problem := _problem_of_file(file, source):
        return state(SourceStatus.CHANGED, problem)
    if source.unpack is None:
        return state(SourceStatus.READY)
    if not os.path.lexists(place):
        return state(SourceStatus.MISSING, "not unpacked yet")
    if place.is_symlink() or not place.is_dir():
        return state(SourceStatus.CHANGED, "it is not a folder")
    try:
        problem = archives.first_difference(file, place, kind=source.unpack)
    except (OSError, DataError) as error:
        problem = str(error)
    return state(SourceStatus.CHANGED if problem else SourceStatus.READY, problem)


def glance(source: DataSource, *, cache: Path) -> SourceState:
    """What the cache seems to have of a source: nothing is read but the file's size."""
    file, place = cache / "data" / source.hex_digits, place_of(source, cache=cache)
    try:
        size = file.lstat().st_size
    except OSError:
        return SourceState(
            source=source, status=SourceStatus.MISSING, path=place, problem=_NOT_YET[bool(source.prepared_by)]
        )
    if size != source.num_bytes:
        problem = f"expected {source.num_bytes:,} bytes, got {size:,}"
        return SourceState(source=source, status=SourceStatus.CHANGED, path=place, problem=problem)
    if not place.exists():
        return SourceState(source=source, status=SourceStatus.MISSING, path=place, problem="not unpacked yet")
    return SourceState(source=source, status=SourceStatus.READY, path=place)


def fetch(source: DataSource, *, cache: Path, offline: bool, on_progress: OnProgress) -> SourceState:
    """Get a source into the cache, unless it is there as declared; what was changed there is replaced.

    Raises:
        DataError: No place has it, or its archive must not be unpacked.
        UsageError: It needs a package that is not installed.
        WorkspaceError: The cache cannot be written, or the disk is full.
    """
    folder = cache / "data"
    with _held(folder, source, on_progress=on_progress):
        found = check(source, cache=cache)
        if found.status is SourceStatus.READY:
            return found
        file = folder / source.hex_digits
        if found.status is SourceStatus.CHANGED:
            on_progress(source, 0, f"the copy in the cache was changed and is replaced: {found.problem}")
            _remove(found.path)
        if found.status is SourceStatus.CHANGED and os.path.lexists(file) and _problem_of_file(file, source):
            _remove(file)
        if not os.path.lexists(file):
            partial = folder / f".{source.hex_digits}.partial"
            download(source, file, partial=partial, offline=offline, on_progress=on_progress)
        if source.unpack is not None:
            _remove(found.path)
            _unpack(source, file, found.path)
        return SourceState(
            source=source, status=SourceStatus.READY, path=found.path
        )  # all of it was checked on its way


def other_at_its_place(source: DataSource) -> str:
    """Why the file of this machine that a source names is another one than declared; "" where it is not.

    What is in the cache is used all the same; a file that is gone, or lies elsewhere, says nothing.
    """
    for url in source.places:
        if protocol_of(url) == "file":
            path = Path(unquote(urlsplit(url).path))
            if path.is_file() and (problem := _problem_of_file(path, source)):
                return f"{path} is not the declared file: {problem}"
    return ""


def signature(path: Path) -> tuple[tuple[str, int, int, int, int], ...]:
    """What changes whenever a file, or any file below a folder, is written: nothing is read.

    The time of the last change of an inode cannot be set back by the program that changed it.
    """
    found = [path, *sorted(path.rglob("*"))] if path.is_dir() else [path]
    rows = []
    for one in found:
        status = one.lstat()
        rows.append((str(one), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return tuple(rows)


def _problem_of_file(path: Path, source: DataSource) -> str:
    """Why a file of the cache is not the declared one, or ""."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                return "it is not a plain file"
            if status.st_size != source.num_bytes:
                return f"expected {source.num_bytes:,} bytes, got {status.st_size:,}"
            actual = f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    return "" if actual == source.sha256 else f"expected {source.sha256}, got {actual}"


def _unpack(source: DataSource, file: Path, place: Path) -> None:
    """Fill a folder next to its place, and give it its name once it is whole."""
    for leftover in place.parent.glob(f".{place.name}.*"):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        partial = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    except OSError as error:
        raise cache_unwritable(place, error) from error
    try:
        archives.unpack(file, partial, kind=source.unpack or "")
        partial.chmod(0o755)
        partial.rename(place)
    except DataError as error:
        raise DataError(
            f"the data {source.name}: {error.told()}", where=source.where, fix=error.fix
        ) from error
    except OSError as error:
        raise cache_unwritable(place, error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise cache_unwritable(path, error) from error


@contextlib.contextmanager
def _held(folder: Path, source: DataSource, *, on_progress: OnProgress) -> Iterator[None]:
    """Wait until no other process fetches the same file; the lock ends with the process."""
    import fcntl  # noqa: PLC0415  (Windows has none)

    path = folder / ".locks" / source.hex_digits
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a")
    except OSError as error:
        raise cache_unwritable(path, error) from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_progress(source, 0, "another process is fetching it: waiting")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
