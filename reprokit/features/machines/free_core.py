"""A core of this machine for a run alongside runs of other tools: each takes one that no one has."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO


@contextlib.contextmanager
def free_core(cores: Sequence[int]) -> Iterator[int]:
    """Hold a core that no other call on this machine holds; where all are taken, one of them.

    Args:
        cores: The numbers of those that this process may use, at least one.
    """
    folder = Path(tempfile.gettempdir()) / f"reprokit-cores-{os.getuid()}"
    for core in cores:
        lock = _taken(folder, core)
        if lock is not None:
            with lock:
                yield core
            return
    yield cores[os.getpid() % len(cores)]


def _taken(folder: Path, core: int) -> TextIO | None:
    """The lock of a core, held until it is closed or this process ends; None where another has it."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        lock = (folder / str(core)).open("a")
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock
