"""Tasks of ``concurrent.futures`` and asyncio: numbered, and recorded in the order in which they complete.

At a pinned call site, results come in the order of the replayed run.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from .frames import own_caller, site_of
from .pools import Named
from .threads import Turns, asked
from .watch import Watch, unit


def watch_futures(module: Any, watch: Watch) -> None:
    """Record or replay the order in which futures complete."""
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

    asked(module.Future, "done", watch)
    asked(module.Future, "running", watch)
    module.as_completed = as_completed
    module._base.as_completed = as_completed


def _number(future: Any) -> str:
    return str(getattr(future, "_reprokit_number", "?"))


def _as_submitted(future: Any) -> int:
    return int(getattr(future, "_reprokit_number", 0))


def watch_executors(module: Any, watch: Watch) -> None:
    """Number the tasks of ``concurrent.futures.thread`` or ``.process``; threads take turns."""
    for name, gated in (("ThreadPoolExecutor", True), ("ProcessPoolExecutor", False)):
        kind = vars(module).get(name)
        if kind is not None and kind.__module__ == module.__name__:
            kind.submit = _numbered(kind.submit, {}, watch, gated=gated)


def _numbered(natural: Any, turns: dict[str, Turns], watch: Watch, *, gated: bool) -> Any:
    count = [0]

    @functools.wraps(natural)
    def submit(self: Any, fn: Any, /, *args: Any, **options: Any) -> Any:
        frame = own_caller()
        count[0] += 1
        number = count[0]
        if gated and frame is not None:
            site = site_of(frame, "thread_order")
            here = turns.setdefault(watch.context + unit(site), Turns(watch, site))
            turn, work = here.begun(), functools.partial(fn, *args, **options)
            future = natural(self, here.run, turn, work)
        else:
            future = natural(self, Named(fn, f"task {number}"), *args, **options)
        future._reprokit_number = number
        return future

    return submit


def watch_asyncio(module: Any, watch: Watch) -> None:
    """``asyncio.as_completed`` puts what it is given into a set: here its tasks begin in the order given."""
    natural = module.as_completed

    @functools.wraps(natural)
    def as_completed(fs: Any, *, timeout: float | None = None) -> Any:
        if own_caller() is None:
            return natural(fs, timeout=timeout)
        return natural([module.ensure_future(one) for one in fs], timeout=timeout)

    module.as_completed = as_completed
