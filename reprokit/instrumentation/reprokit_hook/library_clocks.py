"""Clocks that an installed library reads: recorded, and replayed, at the program's line that called it.

Where the other run read the clock less often, its clock continues from the last reading: it never stops
nor jumps, as libraries wait for it. A reading is replayed only to who asks the same clock: where a run reads
one of several clocks more often than the other run, what it reads next is another one's.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from .frames import library_of, own_reader, site_of
from .system_values import Deep
from .watch import Watch, unit

#: So many readings of a line are recorded and replayed: the watch has no room for more.
_MOST = 10_000


class LibraryClocks:
    """What libraries have read so far.

    Args:
        watch: Of this process.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._ahead: dict[tuple[str, str], Any] = {}
        self._last: dict[tuple[str, str], Any] = {}

    def reader(self, clock: str) -> Deep:
        """What answers libraries that read a clock.

        Args:
            clock: Its name in ``time``.
        """
        return lambda caller, natural, _: self._read(caller, clock, natural)

    def _read(self, caller: FrameType, clock: str, natural: Callable[[], Any]) -> Any:
        """What a clock says to the code that asks for it.

        Args:
            caller: Who asks; the standard library, which only waits and logs, gets the natural time.
            clock: Its name in ``time``.
            natural: Reads it.
        """
        library = library_of(caller.f_code.co_filename)
        frame = own_reader(4) if library else None
        now = natural()
        if frame is None or not isinstance(now, (int, float)):
            return now
        site = site_of(frame, "library_clock")
        ahead = (unit(site), clock)
        known = self._watch.sites.get(unit(site))
        if known is not None and known["counts"].get(self._watch.context, 0) >= _MOST:
            return now + self._ahead.get(ahead, 0)
        value = self._watch.value(
            site,
            lambda: now + self._ahead.get(ahead, 0),
            encode=lambda read: (clock, read),
            decode=lambda read: _of_clock(clock, *read),
        )
        if self._watch.pinned(site):
            value = self._last[ahead] = max(value, self._last.get(ahead, value))
            self._ahead[ahead] = value - now
        self._watch.sites[unit(site)]["what"] = f"the clock, which {library}:{caller.f_lineno} reads"
        return value


def _of_clock(clock: str, name: str, value: Any) -> Any:
    """A recorded reading; a ``ValueError`` where it is another clock's."""
    if name != clock:
        raise ValueError(name)
    return value
