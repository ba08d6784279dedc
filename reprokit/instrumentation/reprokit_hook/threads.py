"""Threads: the order in which they finish, and questions about their state.

Where a call site is pinned, its threads take turns in the order in which they finished in the other run.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from .frames import Site, above, direct_caller, is_own, site_of
from .watch import Watch, unit

#: How long a thread waits for its turn, and how often in vain before none waits any longer.
_PATIENCE_S, _IN_VAIN = 5.0, 3
#: Varied, threads begin this much later at most; all of them together no more than that.
_PAUSE_S, _PAUSES_S = 0.05, 2.0


class Turns:
    """The turns of the threads or tasks that one call site starts."""

    def __init__(self, watch: Watch, site: Site) -> None:
        self._watch, self._site = watch, site
        self._started, self._turn = 0, 0
        self._condition = threading.Condition()
        self._rank = watch.ranks(site)
        self._serial = bool({unit(site), "*"} & watch.serial)
        self._in_vain, self._paused_s = 0, 0.0

    def begun(self) -> int:
        with self._condition:
            self._started += 1
            return self._started - 1

    def run(self, number: int, work: Callable[[], Any]) -> Any:
        rank = number if self._serial else self._rank.get(number)
        if rank is None and self._watch.varies("completion_order"):
            self._pause(number)
        if rank is not None and self._in_vain < _IN_VAIN:
            with self._condition:
                came = self._condition.wait_for(lambda: self._turn >= rank, timeout=_PATIENCE_S)
                self._in_vain += not came
        try:
            return self._watch.within(f"{unit(self._site)} {number}", work)
        finally:
            self._watch.seen(self._site, str(number))
            with self._condition:
                self._turn = max(self._turn, (rank or 0) + 1)
                self._condition.notify_all()

    def _pause(self, number: int) -> None:
        pause_s = self._watch.random(self._site, number).random() * _PAUSE_S
        if self._paused_s < _PAUSES_S:
            self._paused_s += pause_s
            threading.Event().wait(pause_s)


def watch(watch: Watch) -> None:
    """Watch threads that the program's own code starts."""
    natural = threading.Thread.start
    turns: dict[str, Turns] = {}

    def start(self: threading.Thread) -> None:
        frame = above(1)
        if frame is not None and is_own(frame.f_code.co_filename):
            site = site_of(frame, "thread_order")
            here = turns.setdefault(watch.context + unit(site), Turns(watch, site))
            number, run = here.begun(), self.run
            self.run = lambda: here.run(number, run)  # type: ignore[method-assign]
        natural(self)

    threading.Thread.start = start  # type: ignore[method-assign]
    asked(threading.Event, "is_set", watch)
    asked(threading.Thread, "is_alive", watch)


def asked(kind: Any, name: str, watch: Watch) -> None:
    """A question whose answer is a matter of time: ``is_set``, ``done``, ``empty``."""
    natural = getattr(kind, name)

    @functools.wraps(natural)
    def asked(self: Any, *args: Any, **options: Any) -> Any:
        frame = direct_caller()
        if frame is None:
            return natural(self, *args, **options)
        return watch.value(site_of(frame, "thread_state"), lambda: natural(self, *args, **options))

    setattr(kind, name, asked)
