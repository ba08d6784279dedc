"""The cache folder of wheels and environments, its locks, and folders that appear whole or not at all.

>>> with held(cache_folder(None), "venv-cpu", on_progress=print): ...
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from reprokit.errors import ImageError
from reprokit.workspace import cannot_write

Progress = Callable[[str], None]


def cache_folder(given: Path | None) -> Path:
    """The cache: as given, else ``$REPROKIT_CACHE``, else ``$XDG_CACHE_HOME/reprokit``.

    Raises:
        ImageError: This user has no home folder and names no other place.
        WorkspaceError: The folder cannot be made.
    """
    if given is None and (named := os.environ.get("REPROKIT_CACHE")):
        given = Path(named)
    if given is None:
        try:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        except RuntimeError as error:
            raise ImageError(
                "there is no cache folder: this user has no home folder",
                fix="set REPROKIT_CACHE to a folder that you can write to",
            ) from error
        given = Path(base) / "reprokit"
    try:
        given.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(given, error) from error
    return given.resolve()


def mark_used(path: Path) -> None:
    """Note that something in the cache was used now, for `image prune`; a read-only cache notes nothing."""
    with contextlib.suppress(OSError):
        os.utime(path)


@contextlib.contextmanager
def held(folder: Path, name: str, *, on_progress: Progress) -> Iterator[None]:
    """Wait until no other process works on ``name``, and keep others waiting meanwhile.

    The lock ends with the process, however it ends.
    """
    import fcntl  # noqa: PLC0415  (Windows has none)

    path = folder / "locks" / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a")
    except OSError as error:
        raise cannot_write(path, error) from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_progress(f"waiting for another reprokit process that is making {name}")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def appearing(final: Path) -> Iterator[Path]:
    """A folder to fill, which becomes ``final`` when the block succeeds and is removed when it fails.

    Hold a lock around it: what killed processes left behind is removed first.

    Raises:
        WorkspaceError: The folder cannot be written, or the disk is full.
    """
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        for leftover in final.parent.glob(f".{final.name}.*"):
            shutil.rmtree(leftover, ignore_errors=True)
        partial = Path(tempfile.mkdtemp(dir=final.parent, prefix=f".{final.name}."))
    except OSError as error:
        raise cannot_write(final, error) from error
    try:
        yield partial
        partial.chmod(0o755)
        partial.rename(final)
    except OSError as error:
        raise cannot_write(final, error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
