"""What takes long to make and is only copied: made by the first test process that asks, for all of them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(name: str, make: Callable[[Path], None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that ``make`` filled; copy it, since other processes read it.

    Args:
        name: Of the folder, the same in every process.
        make: Fills the empty folder that it is given. Where it fails, the next process tries again.
        tmp_path_factory: Of the calling process; the parent of its folder belongs to all workers.
    """
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "made_once"
    home.mkdir(exist_ok=True)
    done = home / name
    with (home / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            attempt = tmp_path_factory.mktemp(name)
            make(attempt)
            attempt.rename(done)
    return done
