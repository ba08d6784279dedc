"""What each run on this host inherits from the tool's own process, where a run can change it for others."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Files of ``/proc/<process>`` whose content a program that is started takes over.
_FILES = {
    "oom_score_adj": "how soon it is ended where memory is short",
    "timerslack_ns": "how exact its timers are",
    "coredump_filter": "what a core dump holds",
    "cgroup": "its control group",
}


def inherited() -> dict[str, Any]:
    """What → its value, as far as the system tells it."""
    process, found = os.getpid(), dict[str, Any]()
    for name, says in _FILES.items():
        with contextlib.suppress(OSError):
            found[says] = Path(f"/proc/{process}/{name}").read_text("utf-8", "replace")
    with contextlib.suppress(OSError):
        found["its priority"] = os.getpriority(os.PRIO_PROCESS, process)
    if hasattr(os, "sched_getaffinity"):
        found["its cores"] = sorted(os.sched_getaffinity(process))
        found["how it is scheduled"] = os.sched_getscheduler(process)
    return {**found, **dict(_limits())}


def _limits() -> Iterator[tuple[str, Any]]:
    with contextlib.suppress(ImportError):
        import resource  # noqa: PLC0415  (not on Windows)

        for name in dir(resource):
            if name.startswith("RLIMIT_"):
                with contextlib.suppress(OSError, ValueError):
                    yield f"its limit {name}", resource.getrlimit(getattr(resource, name))
