"""Tells the program's own code from that of libraries, by file name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Site = tuple[str, str, int, str]
else:  # before Python 3.9 they take no parameters
    Site = tuple


def _began_at() -> float:
    """When this process began, by the clock of the file system: Python's own may be held."""
    try:
        return os.stat("/proc/self").st_mtime
    except OSError:
        return float("inf")


STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_HOOK = os.path.dirname(os.path.abspath(__file__)) + os.sep
_ABOVE = os.path.dirname(os.path.dirname(_HOOK[:-1])) + os.sep
# Where the hook is mounted alone, the program's own files may lie next to it.
_PACKAGE = _ABOVE if os.path.isfile(f"{_ABOVE}__init__.py") else _HOOK
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_REPROKIT = (
    f"{os.sep}mounts{os.sep}reprokit{os.sep}",
    f"{os.sep}mnt{os.sep}reprokit{os.sep}reprokit{os.sep}",
)
_BEGAN_IN = os.getcwd()
_IMPORTING = "<frozen importlib._bootstrap>"
#: Frameworks that start processes of their own, and the parts of each that draw on the program's behalf.
_RUN_PROCESSES = {"ray": frozenset(["air", "data", "llm", "rllib", "serve", "train", "tune", "util"])}
_BEGAN_AT = _began_at()
_known: dict[str, bool] = {}
_tends: dict[str, bool] = {}
_real: dict[str, str] = {}


def is_own(filename: str) -> bool:
    """Whether a file is the program's own: no library, not this package, not made of nothing."""
    known = _known.get(filename)
    if known is None:
        path = filename if filename.startswith(("/", "<")) else os.path.join(_BEGAN_IN, filename)
        foreign = (
            filename.startswith("<")
            or path.startswith((STANDARD, _PACKAGE))
            or any(part in path for part in _PACKAGES)
            or any(part in path for part in _REPROKIT)
            or _is_generated(path)
        )
        known = _known[filename] = not foreign
    return known


def _is_generated(path: str) -> bool:
    """Whether a library wrote this file during the run, under a temporary name that is new each time."""
    if not path.startswith(_temporary()):
        return False
    folders = [_BEGAN_IN, *(folder for folder in sys.path if folder)]
    if any(path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders):
        return False
    try:
        return os.stat(path).st_mtime >= _BEGAN_AT
    except OSError:
        return False


def _temporary() -> str:
    named = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return next((folder for folder in named if folder), "/tmp").rstrip(os.sep) + os.sep  # noqa: S108


def library_of(filename: str) -> str:
    """Which installed library a file belongs to, as a path below its packages; "" for other code."""
    for part in _PACKAGES:
        _, found, below = filename.rpartition(part)
        if found:
            return below
    return ""


def runs_processes(filename: str) -> bool:
    """Whether a file is the part of a framework that starts and tends processes of its own."""
    known = _tends.get(filename)
    if known is None:
        framework, _, below = library_of(filename).partition(os.sep)
        drawing = _RUN_PROCESSES.get(framework)
        known = _tends[filename] = drawing is not None and below.partition(os.sep)[0] not in drawing
    return known


def own_reader(depth: int = 2) -> FrameType | None:
    """As ``own_caller``, of what is read or drawn: None where a framework does so for processes of its own.

    What Ray asks while it starts a cluster (its processes' ids, ports that are free, names that no one has)
    is of this run alone: given to another run, that run's cluster would not start.
    """
    return own_caller(depth + 1, but_for=runs_processes)


def own_caller(
    depth: int = 2, *, limit: int = 40, but_for: Callable[[str], bool] | None = None
) -> FrameType | None:
    """The nearest frame of the program's own code, from ``depth`` frames up on; None where there is none.

    A library's own work while it is imported belongs to no line, nor does that of files ``but_for`` which
    all others count.
    """
    frame = above(depth)
    while frame is not None and limit:
        name = frame.f_code.co_filename
        if is_own(name):
            return frame
        if name == _IMPORTING or (but_for is not None and but_for(name)):
            return None
        frame, limit = frame.f_back, limit - 1
    return None


def direct_caller() -> FrameType | None:
    """The program's frame that called the caller of this, skipping the hook; None for other code."""
    frame = above(2)
    while frame is not None and frame.f_code.co_filename.startswith(_HOOK):
        frame = frame.f_back
    return frame if frame is not None and is_own(frame.f_code.co_filename) else None


def above(depth: int) -> FrameType | None:
    """The frame so many above the caller of this; None where compiled code called, in a thread of its own."""
    try:
        return sys._getframe(depth + 1)
    except ValueError:
        return None


def module_above(depth: int) -> str:
    """The module whose code is so many frames above the caller of this; "" where there is none."""
    frame = above(depth + 1)
    return "" if frame is None else str(frame.f_globals.get("__name__") or "")


def site_of(frame: FrameType, kind: str) -> Site:
    """A call site: kind, file, line, function."""
    code = frame.f_code
    return kind, real(code.co_filename), frame.f_lineno, code.co_name


def real(filename: str) -> str:
    """A file's name that is the same in every run: links, such as a run's mounts, are followed."""
    found = _real.get(filename)
    if found is None:
        found = _real[filename] = os.path.realpath(os.path.join(_BEGAN_IN, filename))
    return found
