"""Whom the kernel killed for lack of memory, from its own log, where this user may read that.

The kernel names the control group whose limit was reached and that of the process which it killed; an engine
names both after the container. Of many kills in a short time it names only some, and old lines are dropped:
then a group that is not among the lines may still be among the killed.

    >>> with KernelLog() as log:
    ...     train()
    ...     log.kills().of("5d604a4799fa")
    <Killed.AT_ITS_LIMIT: 'at its limit'>
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType

_KERNEL_LOG = Path("/dev/kmsg")
_RECORD_BYTES = 8192  # the longest that the kernel hands out; shorter reads are refused
_OF_THE_KERNEL = 8  # "priority,…;text": users' own records have priorities from here on
_VICTIM = re.compile(
    r"oom-kill:constraint=.*?(?:,oom_memcg=(?P<limited>[^,]*))?,task_memcg=(?P<group>[^,]*),.*,pid=(?P<pid>\d+),"
)
_FIRST_PIDS = "pid:[4026531836]"  # the namespace whose numbers the kernel's log holds


class Killed(Enum):
    """What the kernel's log says of one container or process."""

    AT_ITS_LIMIT = "at its limit"
    ELSEWHERE = "for lack of memory outside it"
    NONE = "not killed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryKills:
    """Which processes of this machine the kernel killed for lack of memory, within some time.

    Attributes:
        number: How many.
        named: Of those that the log names: the group whose limit was reached ("" for the machine's memory),
            the group of the process, and its number.
        all_named: Whether the log names every one of them.
    """

    number: int = 0
    named: tuple[tuple[str, str, int], ...] = ()
    all_named: bool = False

    def of(self, container: str) -> Killed:
        """Whether a process of a container was killed, by the container's whole id."""
        if container:
            if any(container in limited for limited, *_ in self.named):
                return Killed.AT_ITS_LIMIT
            if any(container in group for _, group, _ in self.named):
                return Killed.ELSEWHERE
        return Killed.NONE if not self.number or (container and self.all_named) else Killed.UNKNOWN

    def of_process(self, pid: int | None) -> Killed:
        """Whether a process was killed, by the number that it had here."""
        if pid is not None and _has_first_pids():
            if pid in {number for *_, number in self.named}:
                return Killed.ELSEWHERE
            if self.all_named:
                return Killed.NONE
        return Killed.UNKNOWN if self.number else Killed.NONE


class KernelLog:
    """The kernel's log from now on."""

    def __init__(self, path: Path = _KERNEL_LOG) -> None:
        self._log: int | None = None
        with contextlib.suppress(OSError):
            self._log = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            os.lseek(self._log, 0, os.SEEK_END)
        self._number_before = out_of_memory_kills()

    def kills(self) -> MemoryKills:
        """Those since the beginning, once."""
        counted = out_of_memory_kills() - self._number_before
        if self._log is None:
            return MemoryKills(number=counted)
        lines, is_whole = _lines(self._log)
        victims = [found for found in map(_VICTIM.match, lines) if found]
        named = tuple((found["limited"] or "", found["group"], int(found["pid"])) for found in victims)
        number = max(counted, sum(": Killed process " in line for line in lines), len(named))
        return MemoryKills(number=number, named=named, all_named=is_whole and len(named) == number)

    def __enter__(self) -> KernelLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._log is not None:
            os.close(self._log)


def _has_first_pids() -> bool:
    try:
        return str(Path("/proc/self/ns/pid").readlink()) == _FIRST_PIDS
    except OSError:
        return False


def _lines(log: int) -> tuple[list[str], bool]:
    """The kernel's own lines that are left to read, and whether none was dropped before it was read."""
    lines: list[str] = []
    is_whole = True
    while True:
        try:
            record = os.read(log, _RECORD_BYTES)
        except OSError as error:
            if error.errno != errno.EPIPE:  # EAGAIN: there are no more
                return lines, is_whole and error.errno == errno.EAGAIN
            is_whole = False
            continue
        if not record:
            return lines, is_whole
        head, _, text = record.decode(errors="replace").partition(";")
        priority = head.partition(",")[0]
        if priority.isdigit() and int(priority) < _OF_THE_KERNEL:
            lines.append(text.partition("\n")[0])


def out_of_memory_kills() -> int:
    """How often the kernel has killed a process for lack of memory since boot; 0 where it does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
