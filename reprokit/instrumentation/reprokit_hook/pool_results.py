"""What ``Pool.imap_unordered`` returns: results in an order that is recorded, varied or replayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .frames import Site
from .watch import Watch

#: How long a result of the other run is waited for; how long, and for how many, before they are shuffled.
_PATIENCE_S, _MOMENT_S, _AHEAD = 5.0, 0.02, 8


class Results:
    """What ``imap_unordered`` returns: results in their natural order, a varied one, or the other run's.

    The program may hand out the next task only once it has a result, so no more than what comes by itself
    within a short while is waited for before one is given.
    """

    def __init__(self, results: ResultReader, watch: Watch, site: Site) -> None:
        self._results, self._watch, self._site = results, watch, site
        self._ahead: dict[int, Any] = {}
        self._given: list[int] = []
        self._wanted = watch.expected_order(site)
        self._shuffle = watch.random(site) if watch.varies("completion_order") else None
        self._patience_s = _PATIENCE_S

    def __iter__(self) -> Results:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self, timeout: float | None = None) -> Any:
        """The next result, as ``multiprocessing.pool.IMapIterator`` gives it."""
        try:
            number, value = self._next(timeout)
        except StopIteration:
            if self._given:
                self._watch.order(self._site, self._given, str, replay=False)
                self._given = []
            raise
        self._given.append(number)
        return value

    def _next(self, timeout: float | None) -> tuple[int, Any]:
        at = len(self._given)
        if self._shuffle is not None and at not in self._wanted:
            self._gather(until=lambda: len(self._ahead) >= _AHEAD, each_s=_MOMENT_S)
            if self._ahead:
                number = self._shuffle.choice(sorted(self._ahead))
                return number, self._ahead.pop(number)
        elif at in self._wanted:
            wanted = self._wanted[at]
            self._gather(until=lambda: wanted in self._ahead, each_s=self._patience_s)
            if wanted not in self._ahead:
                self._patience_s = 0.0  # what does not come once is not waited for again
            if self._ahead:
                number = wanted if wanted in self._ahead else next(iter(self._ahead))
                return number, self._ahead.pop(number)
        found: tuple[int, Any] = self._results.next(timeout)
        return found

    def _gather(self, *, until: Callable[[], bool], each_s: float) -> None:
        while not until():
            try:
                number, value = self._results.next(each_s)
            except StopIteration:
                if not self._ahead:
                    raise
                return
            except self._results.too_late:
                return
            self._ahead[number] = value


class ResultReader:
    """Reads a pool's iterator one result at a time, chunks taken apart; nothing in time is ``too_late``."""

    def __init__(self, results: Any, too_late: type[Exception]) -> None:
        self.too_late = too_late
        self._chunked = not hasattr(results, "next")
        self._inner: Any = results.gi_frame.f_locals.get(".0") if self._chunked else results
        self._whole: Any = None if hasattr(self._inner, "next") else results
        self._chunk: list[Any] = []

    def next(self, timeout: float | None = None) -> Any:
        if self._whole is not None:
            return next(self._whole)
        if not self._chunked:
            return self._inner.next(timeout)
        if not self._chunk:
            self._chunk = list(self._inner.next(timeout))
        return self._chunk.pop(0)
