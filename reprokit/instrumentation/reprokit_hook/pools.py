"""Pools of processes: the order in which their results come back.

Every piece of a pool's work has a name, so that it draws the same numbers in whichever worker it runs.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

from .frames import Site, own_caller, site_of
from .pool_results import ResultReader, Results
from .watch import Watch, unit

#: How long workers without a task have to end, and how often that is checked.
_END_S, _POLL_S = 2.0, 0.002
_monotonic, _sleep = time.monotonic, time.sleep  # as they were before they were wrapped


def watch_pools(module: Any, watch: Watch) -> None:
    """``imap_unordered``: results numbered, so that their order can be told and given."""
    natural = module.Pool.imap_unordered
    _name_tasks(module)
    _let_idle_workers_end(module)

    @functools.wraps(natural)
    def imap_unordered(self: Any, func: Any, iterable: Any, chunksize: int = 1) -> Any:
        frame = own_caller()
        if frame is None:
            return natural(self, func, iterable, chunksize)
        results = natural(self, Numbered(func), enumerate(iterable), chunksize)
        return Results(ResultReader(results, module.TimeoutError), watch, site_of(frame, "completion_order"))

    module.Pool.imap_unordered = imap_unordered


def _name_tasks(module: Any) -> None:
    natural = module.Pool._get_tasks
    jobs = [0]

    def get_tasks(func: Any, items: Any, size: int) -> Iterator[Any]:
        jobs[0] += 1
        for number, (function, chunk) in enumerate(natural(func, items, size)):
            yield Named(function, f"task {jobs[0]}.{number}"), chunk

    module.Pool._get_tasks = staticmethod(get_tasks)


def _let_idle_workers_end(module: Any) -> None:
    """Have a pool without open tasks end its workers by asking, not by a signal: so each leaves its trace.

    A handler of that signal would not do: one that comes just before a worker waits is missed.
    """
    natural = module.Pool._terminate_pool.__func__

    @functools.wraps(natural)
    def terminate_pool(kind: Any, *parts: Any) -> None:
        names = ("taskqueue", "inqueue", "outqueue", "pool", "change_notifier", "worker_handler")
        found = dict(zip(names, parts))
        with contextlib.suppress(Exception):  # another release's pool ends as it always does
            workers = [one for one in found["pool"] if hasattr(one, "terminate")]
            if workers and not parts[-1]:
                found["worker_handler"]._state = module.TERMINATE
                found["change_notifier"].put(None)
                end = _monotonic() + _END_S
                while any(worker.exitcode is None for worker in workers) and _monotonic() < end:
                    _sleep(_POLL_S)
        natural(kind, *parts)

    module.Pool._terminate_pool = classmethod(terminate_pool)


class Named:
    """A function that works under a task's name; it can go to another process."""

    def __init__(self, function: Any, name: str) -> None:
        self.function, self.name = function, name

    def __call__(self, *args: Any, **options: Any) -> Any:
        from . import current

        watch = current()
        if watch is None:
            return self.function(*args, **options)
        try:
            return watch.within(self.name, lambda: self.function(*args, **options))
        finally:
            watch.writer.after_task()


class Numbered:
    """A function whose result carries its argument's number; it can go to another process."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, numbered: tuple[int, Any]) -> tuple[int, Any]:
        number, item = numbered
        return number, Named(self.function, f"item {number}")(item)


def watch_callbacks(module: Any, watch: Watch) -> None:
    """``Pool.apply_async(…, callback=…)``: the order in which results come back."""
    natural = module.Pool.apply_async
    orders: dict[str, CallbackOrder] = {}

    @functools.wraps(natural)
    def apply_async(
        self: Any,
        func: Any,
        args: Any = (),
        kwds: Any = None,
        callback: Any = None,
        error_callback: Any = None,
    ) -> Any:
        frame = own_caller()
        if frame is None:
            return natural(self, func, args, kwds or {}, callback, error_callback)
        site = site_of(frame, "completion_order")
        order = orders.get(unit(site))
        if order is None:
            order = orders.setdefault(unit(site), CallbackOrder(watch, site, ended=module.TERMINATE))
        number = order.begun(self, waits=callback is not None)
        if callback is not None:
            callback = functools.partial(order.done, self, number, callback)
            error_callback = functools.partial(order.done, self, number, error_callback)
        named = Named(func, f"call {unit(site)} {number}")
        return natural(self, named, args, kwds or {}, callback, error_callback)

    module.Pool.apply_async = apply_async


class CallbackOrder:
    """Calls the callbacks of one call site as results come, or in the other run's order where it is pinned.

    A result that is held back is let go once no other task can still come before it: the other run may have
    had tasks that this one has not, and the program may be waiting for the callback.
    """

    def __init__(self, watch: Watch, site: Site, *, ended: str) -> None:
        self._watch, self._site, self._ended = watch, site, ended
        self._started, self._turn = 0, 0
        self._open: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._held: dict[int, tuple[int, Any, Any]] = {}
        self._ranks = watch.ranks(site)
        self._lock = threading.Lock()

    def begun(self, pool: Any, *, waits: bool) -> int:
        """The number of a task that is handed to the pool."""
        with self._lock:
            self._open[pool] = self._open.get(pool, 0) + waits
            self._started += 1
            return self._started - 1

    def done(self, pool: Any, number: int, callback: Any, value: Any) -> None:
        """A task has come back, with a result or an error."""
        rank = self._ranks.get(number)
        with self._lock:
            self._open[pool] -= 1
            if rank is not None:
                self._held[rank] = number, callback, value
            ready = [(number, callback, value)] if rank is None else []
            while self._held and (min(self._held) <= self._turn or not self._some_are_open()):
                rank = min(self._held)
                ready.append(self._held.pop(rank))
                self._turn = max(self._turn, rank + 1)
        for at, call, result in ready:
            self._watch.seen(self._site, str(at))
            if call is not None:
                call(result)

    def _some_are_open(self) -> bool:
        """Whether a task may still come back; those of a pool that was terminated do not."""
        return any(count for pool, count in list(self._open.items()) if pool._state != self._ended)
