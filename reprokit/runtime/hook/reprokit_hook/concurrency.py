"""Who finishes first: the order in which threads, tasks and pools of processes complete.

Where a call site is pinned, its threads take turns in the order in which they finished in the other run,
and its results come in that run's order.

    >>> watch(a_watch)
"""

from __future__ import annotations

import functools
import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .frames import Site, is_own, own_caller, site_of
from .watching import Watch, unit

_PATIENCE_S = 5.0


class _Turns:
    """The turns of the threads or tasks that one call site starts."""

    def __init__(self, watch: Watch, site: Site) -> None:
        self._watch, self._site = watch, site
        self._started, self._turn = 0, 0
        self._condition = threading.Condition()
        self._rank = watch.ranks(site)
        self._serial = bool({unit(site), "*"} & watch.serial)

    def begun(self) -> int:
        with self._condition:
            self._started += 1
            return self._started - 1

    def run(self, number: int, work: Callable[[], Any]) -> Any:
        rank = number if self._serial else self._rank.get(number)
        if rank is None and self._watch.varies("completion_order"):
            _pause(self._watch, self._site, number)
        if rank is not None:
            with self._condition:
                self._condition.wait_for(lambda: self._turn >= rank, timeout=_PATIENCE_S)
        try:
            return self._watch.within(f"{unit(self._site)} {number}", work)
        finally:
            self._watch.seen(self._site, str(number))
            with self._condition:
                self._turn = max(self._turn, (rank or 0) + 1)
                self._condition.notify_all()


def _pause(watch: Watch, site: Site, number: int) -> None:
    threading.Event().wait(watch.random(site, number).random() * 0.05)


def watch(watch: Watch) -> None:
    """Watch threads that the program's own code starts."""
    natural = threading.Thread.start
    turns: dict[str, _Turns] = {}

    def start(self: threading.Thread) -> None:
        frame = sys._getframe(1)
        if is_own(frame.f_code.co_filename):
            site = site_of(frame, "thread_order")
            here = turns.setdefault(watch.context + unit(site), _Turns(watch, site))
            number, run = here.begun(), self.run
            self.run = lambda: here.run(number, run)  # type: ignore[method-assign]
        natural(self)

    threading.Thread.start = start  # type: ignore[method-assign]
    watch_states(watch)


def watch_futures(module: Any, watch: Watch) -> None:
    """Order what completes."""
    natural = module.as_completed

    @functools.wraps(natural)
    def as_completed(fs: Any, timeout: float | None = None) -> Iterator[Any]:
        frame = own_caller()
        futures = list(fs)
        if frame is None:
            yield from natural(futures, timeout)
            return
        site = site_of(frame, "completion_order")
        if not (watch.pinned(site) or watch.varies("completion_order")):
            done = []
            for one in natural(futures, timeout):
                done.append(one)
                yield one
            watch.order(site, done, _number)
            return
        whole = sorted(natural(futures, timeout), key=_as_submitted)
        yield from watch.order(site, whole, _number, vary="completion_order")

    _asked(module.Future, "done", watch)
    _asked(module.Future, "running", watch)
    module.as_completed = as_completed
    module._base.as_completed = as_completed


def _number(future: Any) -> str:
    return str(getattr(future, "_reprokit_number", "?"))


def _as_submitted(future: Any) -> int:
    number: int = getattr(future, "_reprokit_number", 0)
    return number


def watch_executors(module: Any, watch: Watch) -> None:
    """Number the tasks of ``concurrent.futures.thread`` or ``.process``; threads take turns."""
    for name, gated in (("ThreadPoolExecutor", True), ("ProcessPoolExecutor", False)):
        kind = vars(module).get(name)
        if kind is not None and kind.__module__ == module.__name__:
            kind.submit = _numbered(kind.submit, {}, watch, gated=gated)


def _numbered(natural: Any, turns: dict[str, _Turns], watch: Watch, *, gated: bool) -> Any:
    count = [0]

    @functools.wraps(natural)
    def submit(self: Any, fn: Any, /, *args: Any, **options: Any) -> Any:
        frame = own_caller()
        count[0] += 1
        number = count[0]
        if gated and frame is not None:
            site = site_of(frame, "thread_order")
            here = turns.setdefault(watch.context + unit(site), _Turns(watch, site))
            turn, work = here.begun(), functools.partial(fn, *args, **options)
            future = natural(self, here.run, turn, work)
        else:
            future = natural(self, Named(fn, f"task {number}"), *args, **options)
        future._reprokit_number = number
        return future

    return submit


def watch_pools(module: Any, watch: Watch) -> None:
    """``imap_unordered``: results numbered, so that their order can be told and given."""
    natural = module.Pool.imap_unordered
    _name_tasks(module)

    @functools.wraps(natural)
    def imap_unordered(self: Any, func: Any, iterable: Any, chunksize: int = 1) -> Any:
        frame = own_caller()
        if frame is None:
            return natural(self, func, iterable, chunksize)
        return _numbered_results(self, func, iterable, chunksize, site_of(frame, "completion_order"))

    def _numbered_results(pool: Any, func: Any, items: Any, chunksize: int, site: Site) -> Iterator[Any]:
        results = natural(pool, Numbered(func), enumerate(items), chunksize)
        if not (watch.pinned(site) or watch.varies("completion_order")):
            done = []
            for number, value in results:
                done.append(number)
                yield value
            watch.order(site, done, str)
            return
        whole = sorted(results, key=lambda one: one[0])
        for _, value in watch.order(site, whole, lambda one: str(one[0]), vary="completion_order"):
            yield value

    module.Pool.imap_unordered = imap_unordered


def _name_tasks(module: Any) -> None:
    """Give every piece of a pool's work a name, so that it draws the same in whichever worker."""
    natural = module.Pool._get_tasks
    jobs = [0]

    def get_tasks(func: Any, items: Any, size: int) -> Iterator[Any]:
        jobs[0] += 1
        for number, (function, chunk) in enumerate(natural(func, items, size)):
            yield Named(function, f"task {jobs[0]}.{number}"), chunk

    module.Pool._get_tasks = staticmethod(get_tasks)


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
            watch.write()  # a pool ends its workers without asking


class Numbered:
    """A function whose result carries its argument's number; it can go to another process."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, numbered: tuple[int, Any]) -> tuple[int, Any]:
        number, item = numbered
        return number, Named(self.function, f"item {number}")(item)


def watch_queues(module: Any, watch: Watch) -> None:
    """Which item comes next: recorded, and where pinned the other run's, once it has come."""
    for name in ("Queue", "SimpleQueue", "JoinableQueue"):
        kind = vars(module).get(name)
        if not isinstance(kind, type) or kind.__module__ != module.__name__:
            continue
        if "get" in vars(kind):
            kind.get = _getting(kind.get, watch)  # type: ignore[attr-defined]
        if "empty" in vars(kind):
            _asked(kind, "empty", watch)


def _getting(natural: Any, watch: Watch) -> Any:
    @functools.wraps(natural)
    def get(self: Any, *args: Any, **options: Any) -> Any:
        frame = sys._getframe(1)
        if not is_own(frame.f_code.co_filename):
            return natural(self, *args, **options)
        site = site_of(frame, "queue_order")
        stash = vars(self).setdefault("_reprokit_stash", {}) if hasattr(self, "__dict__") else {}
        name = watch.expected(site)
        if name is None:
            item = stash.pop(next(iter(stash))) if stash else natural(self, *args, **options)
        else:
            item = _awaited(lambda: natural(self, True, _PATIENCE_S), name, stash)
        watch.seen(site, _digest(item))
        return item

    return get


def _awaited(get: Callable[[], Any], name: str, stash: dict[str, Any]) -> Any:
    """Items until the one of this name comes, the others kept for later; or whichever is there."""
    import queue

    while name not in stash:
        try:
            item = get()
        except queue.Empty:
            if not stash:
                raise
            return stash.pop(next(iter(stash)))
        stash[_digest(item)] = item
    return stash.pop(name)


def _digest(item: Any) -> str:
    return hashlib.blake2b(repr(item).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _asked(kind: Any, name: str, watch: Watch) -> None:
    """A question whose answer is a matter of time: ``is_set``, ``done``, ``empty``."""
    natural = getattr(kind, name)

    @functools.wraps(natural)
    def asked(self: Any, *args: Any, **options: Any) -> Any:
        frame = sys._getframe(1)
        if not is_own(frame.f_code.co_filename):
            return natural(self, *args, **options)
        return watch.value(site_of(frame, "thread_state"), lambda: natural(self, *args, **options))

    setattr(kind, name, asked)


def watch_callbacks(module: Any, watch: Watch) -> None:
    """``Pool.apply_async(…, callback=…)``: the order in which results come back."""
    natural = module.Pool.apply_async
    counts: dict[str, list[Any]] = {}

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
        state = counts.setdefault(unit(site), [0, 0, {}, watch.ranks(site)])
        number, state[0] = state[0], state[0] + 1
        heard = (
            None if callback is None else lambda value: _in_turn(watch, site, state, number, callback, value)
        )
        return natural(
            self, Named(func, f"call {unit(site)} {number}"), args, kwds or {}, heard, error_callback
        )

    module.Pool.apply_async = apply_async


def _in_turn(watch: Watch, site: Site, state: list[Any], number: int, callback: Any, value: Any) -> None:
    rank = state[3].get(number)
    if rank is None:
        watch.seen(site, str(number))
        callback(value)
        return
    state[2][rank] = number, value
    while state[1] in state[2]:
        at, result = state[2].pop(state[1])
        watch.seen(site, str(at))
        callback(result)
        state[1] += 1


def watch_states(watch: Watch) -> None:
    """Events that other threads set."""
    _asked(threading.Event, "is_set", watch)
    _asked(threading.Thread, "is_alive", watch)


def watch_asyncio(module: Any, watch: Watch) -> None:
    """``asyncio.as_completed`` puts what it is given into a set: here its tasks begin in the order given."""
    natural = module.as_completed

    @functools.wraps(natural)
    def as_completed(fs: Any, *, timeout: float | None = None) -> Any:
        if own_caller() is None:
            return natural(fs, timeout=timeout)
        return natural([module.ensure_future(one) for one in fs], timeout=timeout)

    module.as_completed = as_completed
