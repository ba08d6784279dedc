"""Ends what a program left behind whose guard was killed before it could: then orphans come to the tool.

A process that left the session of the guard is found all the same, because Linux gives it to the nearest
ancestor that asked for orphans. Source: prctl(2), PR_SET_CHILD_SUBREAPER.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time

import psutil

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_PATIENCE_S = 5.0


class _Asked:
    """How many programs run now whose orphans are asked for, and whether the caller asked for them itself."""

    lock = threading.Lock()
    count = 0
    before = 0


def ask_for_orphans() -> bool:
    """This process gets its descendants' orphans until ``stop_asking``; whether the system can do that."""
    if sys.platform != "linux":
        return False
    with _Asked.lock:
        if _Asked.count == 0:
            _Asked.before = _current()
            if _set(1) != 0:
                return False
        _Asked.count += 1
    return True


def stop_asking() -> None:
    """Undo one ``ask_for_orphans``: orphans of what the caller runs besides would stay with it as zombies."""
    with _Asked.lock:
        _Asked.count -= 1
        if _Asked.count == 0:
            _set(_Asked.before)


def _set(value: int) -> int:
    return int(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0))


def _current() -> int:
    found = ctypes.c_int(0)
    ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(found), 0, 0, 0)
    return found.value


def end_orphans(*, since: float, guard: str) -> tuple[int, ...]:
    """Kill the orphans that came to this process, and their orphans.

    Args:
        since: When the guard was started, seconds since 1970: none of them is older.
        guard: What stands in the command line of a living guard of another run, whose session is its own.

    Returns:
        Numbers of those that could not be ended.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while (found := _orphans(since=since, guard=guard)) and time.monotonic() < deadline:
        for one in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(one, os.WNOHANG)
        time.sleep(0.02)
    return tuple(found)


def _orphans(*, since: float, guard: str) -> list[int]:
    """Children of this process that it did not start: all of its own are in its session, but for guards."""
    session, own = os.getsid(0), psutil.Process().cmdline()
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            words = [] if child.status() == psutil.STATUS_ZOMBIE else child.cmdline()
            is_guard = guard in words or (words and words == own)  # which is what one is until it has begun
            if child.create_time() >= since and os.getsid(child.pid) != session and not is_guard:
                found.append(child.pid)
    return found
