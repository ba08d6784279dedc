"""The source files of a folder whose content is pinned, and their digest.

Python prefers a ``__pycache__`` and a compiled module to the source next to them; both are left out.

    >>> digest_of(Path("reprokit"))
    'sha256:5d1e…'
"""

from __future__ import annotations

import os
import stat
import time
from functools import lru_cache
from pathlib import Path

from reprokit.workspace import sha256_of_files

_COMPILED = frozenset({".pyc", ".pyo", ".so", ".pyd"})
#: What changes when a file is written or replaced; its change time (the fourth) cannot be set back.
State = tuple[int, int, int, int, int]
_CHANGE_TIME = 3
#: A file may change twice within one tick of a file system's clock, of FAT's in two seconds.
_LONGEST_TICK_NS = 2_000_000_000


def digest_of(folder: Path) -> str:
    """Digest of the source files of a folder; what has not moved since it was read is not read again.

    Raises:
        WorkspaceError: There is no such folder, or nothing in it.
    """
    now_ns = time.time_ns()
    seen = states_of(folder)
    if any(now_ns - state[_CHANGE_TIME] < _LONGEST_TICK_NS for state in seen.values()):
        return _read(folder, tuple(seen))
    return _known(folder, tuple(seen.items()))


def source_files(folder: Path) -> list[Path]:
    """Every file below a folder, sorted, but for compiled ones; linked folders are not entered."""
    return [folder / name for name in states_of(folder)]


def states_of(folder: Path) -> dict[str, State]:
    """The same by their names, each with its state (a linked file's is that of the file itself)."""
    found = {}
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        place = os.path.relpath(here, folder)
        for name in names:
            if os.path.splitext(name)[1] in _COMPILED:  # noqa: PTH122 - a thousand files
                continue
            try:
                status = os.stat(f"{here}/{name}")  # noqa: PTH116
            except OSError:  # removed since it was listed, or a link to nothing
                continue
            if stat.S_ISREG(status.st_mode):
                found[name if place == "." else f"{place}/{name}"] = state_of(status)
    return {name: found[name] for name in sorted(found, key=lambda name: name.split("/"))}


def state_of(status: os.stat_result) -> State:
    """What of a file's status changes when it is written or replaced; a folder's size says nothing."""
    size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    return (status.st_mode, size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


@lru_cache(maxsize=8)  # a sweep asks several times a member, and nothing but the states decides
def _known(folder: Path, seen: tuple[tuple[str, State], ...]) -> str:
    return _read(folder, tuple(name for name, _ in seen))


def _read(folder: Path, names: tuple[str, ...]) -> str:
    return sha256_of_files(folder, [folder / name for name in names])
