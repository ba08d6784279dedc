"""Keeping folders whole: atomic files, digests of files, locks that several tools share, who owns what.

A kill or a full disk leaves the old file or the new one, never half of one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import psutil

from reprokit.core.run_record import RunOwner
from reprokit.errors import DiskFullError, WorkspaceBusyError, WorkspaceError
from reprokit.regular_file import open_regular

_LOCK_POLL_S = 0.05
_IGNORED = "# Made by reprokit: results. Git ignores all of this folder; delete this file to commit it.\n*\n"
#: A socket's path holds 107 bytes (unix(7)); multiprocessing appends about 32, this module 13, a variation 2.
_LONGEST_PLACE = 55


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that readers see all of the old content or the new; else a ``WorkspaceError``."""
    descriptor, temporary = -1, ""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            if temporary:
                Path(temporary).unlink(missing_ok=True)
        raise cannot_write(path, error) from error


def write_named(path: Path, data: bytes) -> None:
    """Write a file that a person named, and the folder for it; else a ``WorkspaceError``."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
    write_atomic(path, data)


def make_results_folder(folder: Path) -> None:
    """Make a folder of results that git ignores, as it does caches; one that is there stays as it is.

    Raises:
        WorkspaceError: It cannot be made.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        (folder / ".gitignore").write_text(_IGNORED, encoding="ascii")
    except FileExistsError:
        return  # perhaps with files of the user
    except OSError as error:
        raise cannot_write(folder, error) from error


def write_json(path: Path, value: Any) -> None:
    """Write JSON that a person can read, atomically; NaN is refused by the caller's own types."""
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False) + "\n"
    write_atomic(path, text.encode("utf-8", errors="backslashreplace"))


def cannot_write(path: Path, error: OSError) -> WorkspaceError:
    """The error for a failed write, with its cause told apart."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return DiskFullError(
            "no space left on the disk", where=str(path), fix="free some space and run the command again"
        )
    fix = "make the folder writable for this user, or name another with --runs-dir / --reports-dir"
    if error.errno == errno.EFBIG:
        fix = "raise the limit on the size of files (ulimit -f)"
    return WorkspaceError(f"cannot write: {error.strerror or error}", where=str(path), fix=fix)


def short_folder() -> Path:
    """A new folder for temporary files with a path so short that a UNIX socket's name fits into it."""
    usual = tempfile.gettempdir()
    places = [usual, *(one for one in ("/tmp", "/var/tmp") if os.access(one, os.W_OK | os.X_OK))]  # noqa: S108
    place = next((one for one in places if len(one) <= _LONGEST_PLACE), min(places, key=len))
    return Path(tempfile.mkdtemp(prefix="rk-", dir=place)).resolve()


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, as ``sha256:<hex>``, read in blocks."""
    with open_regular(path) as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def sha256_of_tree(folder: Path, *, pattern: str = "*") -> str:
    """SHA-256 over relative names and contents of files, sorted; a ``WorkspaceError`` where there is none."""
    files = (path for path in folder.rglob(pattern) if path.is_file())
    found = sorted(path for path in files if "__pycache__" not in path.relative_to(folder).parts)
    return sha256_of_files(folder, found, pattern=pattern)


def sha256_of_files(folder: Path, files: Sequence[Path], *, pattern: str = "*") -> str:
    """SHA-256 over relative names and contents of files below a folder, in the order given.

    Raises:
        WorkspaceError: There are none: nothing is equal to nothing.
    """
    sha = hashlib.sha256()
    if not files:
        raise WorkspaceError("there is nothing to digest", where=str(folder), expected=f"files: {pattern}")
    for path in files:
        sha.update(f"{path.relative_to(folder).as_posix()}\0{sha256_of(path)}\n".encode())
    return f"sha256:{sha.hexdigest()}"


def sha256_of_path(path: Path, *, pattern: str = "*") -> str:
    """``sha256_of`` a file, or ``sha256_of_tree`` of anything else.

    Raises:
        WorkspaceError: There is nothing.
    """
    return sha256_of(path) if path.is_file() else sha256_of_tree(path, pattern=pattern)


def this_process() -> dict[str, Any]:
    """What identifies this process on this host until the next boot: pid and start time."""
    process = psutil.Process()
    return {"pid": process.pid, "started": process.create_time(), "boot": psutil.boot_time()}


def machine_id() -> str:
    """What tells this machine from others: 12 hex digits, from which its name cannot be read."""
    with contextlib.suppress(OSError):
        told = Path("/etc/machine-id").read_text(encoding="ascii").strip()
        return hashlib.sha256(f"reprokit {told} {platform.node()}".encode()).hexdigest()[:12]
    return hashlib.sha256(f"reprokit {platform.node()}".encode()).hexdigest()[:12]


def is_alive(owner: RunOwner | None) -> bool:
    """Whether the process that ``this_process`` described still runs (a reused pid is not it).

    One of another machine (``machine``, of runs that an engine made) cannot be asked, and counts as alive.
    """
    if owner is None:
        return False
    if owner.machine not in {None, machine_id()}:
        return True
    if owner.pid is None or owner.started is None:
        return False
    try:
        return abs(psutil.Process(owner.pid).create_time() - owner.started) < 1.0
    except (psutil.Error, ValueError, OverflowError):
        return False


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold a folder for this tool alone; the lock ends with the process, however it ends.

    Raises:
        WorkspaceBusyError: Another process holds it, alone or shared.
        WorkspaceError: The folder cannot be written.
    """
    with _locked(folder, alone=True, wait_s=0.0) as stream:
        with contextlib.suppress(OSError):  # who holds it is a courtesy that a full disk may take
            os.write(stream.fileno(), f"process {os.getpid()}".encode())
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # those that share it next are not this process
                os.ftruncate(stream.fileno(), 0)


@contextlib.contextmanager
def in_turn(folder: Path, *, wait_s: float) -> Iterator[None]:
    """Hold a folder alone, after those that hold it now.

    Raises:
        WorkspaceBusyError: It was not free within ``wait_s`` seconds.
        WorkspaceError: The folder cannot be written.
    """
    with _locked(folder, alone=True, wait_s=wait_s):
        yield


@contextlib.contextmanager
def shared(
    folder: Path, *, wait_s: float = 10.0, alone: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Hold a folder together with other tools, so that none of them gets it for itself alone meanwhile.

    Args:
        folder: What is held.
        wait_s: How long to wait for a process that holds it alone, seconds.
        alone: Called first, with the folder held alone; not called where another process holds it.

    Raises:
        WorkspaceBusyError: Another process still holds it alone.
        WorkspaceError: The folder cannot be written.
    """
    with contextlib.suppress(WorkspaceBusyError), exclusive(folder):
        alone()
    with _locked(folder, alone=False, wait_s=wait_s):
        yield


@contextlib.contextmanager
def _locked(folder: Path, *, alone: bool, wait_s: float) -> Iterator[TextIO]:
    """The lock's file, once it is held; what stood in it before is gone from it if held alone."""
    import fcntl  # noqa: PLC0415  (Windows has none)

    how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = (folder / ".lock").open("a+")
    except OSError as error:
        raise cannot_write(folder, error) from error
    until_s = time.monotonic() + wait_s
    with stream:
        while True:
            try:
                fcntl.flock(stream, how | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= until_s:
                    stream.seek(0)
                    holder = stream.read().strip() or "another process"
                    raise WorkspaceBusyError(
                        f"the folder is in use by {holder}",
                        where=str(folder),
                        fix="wait until it has ended, or name another folder with --runs-dir",
                    ) from error
                time.sleep(_LOCK_POLL_S)
        if alone:
            with contextlib.suppress(OSError):
                os.ftruncate(stream.fileno(), 0)
        yield stream
