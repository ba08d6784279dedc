"""What processes use of a processor, and whether they are stopped, as the kernel says (proc(5)).

>>> processor_times([4711, 4712])
[12.25, 12.31]
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def processor_times(processes: Sequence[int]) -> list[float]:
    """What each process and those below it used, in seconds; none where the kernel does not say."""
    below: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        below.setdefault(int((_stat(path.name) or ["", "0"])[1]), []).append(int(path.name))

    def ticks(pid: int) -> int:
        used = sum(map(int, _stat(pid)[11:15]))  # with threads and processes below it that have ended
        return used - _ticks_of_gloo(pid) + sum(ticks(child) for child in below.get(pid, ()))

    return [ticks(pid) / os.sysconf("SC_CLK_TCK") for pid in processes] if below else []


def is_stopped(pid: int) -> bool:
    """Whether a signal stopped the process, as SIGSTOP does."""
    return _stat(pid)[:1] in (["T"], ["t"])


def _ticks_of_gloo(pid: int) -> int:
    """Of its threads, which look for messages 100 times a second and compute nothing."""
    threads = (_stat(path.relative_to("/proc")) for path in Path(f"/proc/{pid}/task").glob("[0-9]*"))
    return sum(int(one[11]) + int(one[12]) for one in threads if one and one[-1].startswith("gloo"))


def _stat(process: int | str | Path) -> list[str]:
    """What the kernel says of a process or thread, its state first, its name last (proc(5))."""
    try:
        before, _, words = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")
    except OSError:
        return []
    return [*words.split(), before.partition("(")[2]]
