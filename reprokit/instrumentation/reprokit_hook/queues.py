"""The order of a queue's items: recorded, and at a pinned call site that of the replayed run."""

from __future__ import annotations

import functools
import hashlib
from collections import deque
from collections.abc import Callable
from queue import Empty
from typing import Any

from .frames import above, is_own, site_of
from .threads import asked
from .watch import Watch

_PATIENCE_S = 5.0
_NONE = object()


def watch_queues(module: Any, watch: Watch) -> None:
    """Which item comes next: recorded, and where pinned the other run's, once it has come."""
    for name in ("Queue", "SimpleQueue", "JoinableQueue"):
        kind = vars(module).get(name)
        if not isinstance(kind, type) or kind.__module__ != module.__name__:
            continue
        if "get" in vars(kind):
            kind.get = _getting(kind.get, watch)  # type: ignore[attr-defined]
        if "empty" in vars(kind):
            asked(kind, "empty", watch)


def _getting(natural: Any, watch: Watch) -> Any:
    @functools.wraps(natural)
    def get(self: Any, *args: Any, **options: Any) -> Any:
        frame = above(1)
        if frame is None or not is_own(frame.f_code.co_filename):
            return natural(self, *args, **options)
        site = site_of(frame, "queue_order")
        stash = vars(self).setdefault("_reprokit_stash", {}) if hasattr(self, "__dict__") else {}
        name = watch.expected(site)
        item = _any(stash) if name is None else _awaited(_patient(natural, self), name, stash)
        if item is _NONE:
            item = natural(self, *args, **options)
        watch.seen(site, _digest(item))
        return item

    return get


def _patient(natural: Any, queue: Any) -> Callable[[], Any]:
    """Asks a queue for an item and waits for it a while; some kinds of queues take no time limit."""
    if type(queue).__name__ != "SimpleQueue":
        return lambda: natural(queue, True, _PATIENCE_S)

    def get() -> Any:
        if not queue._reader.poll(_PATIENCE_S):
            raise Empty
        return natural(queue)

    return get


def _awaited(get: Callable[[], Any], name: str, stash: dict[str, deque[Any]]) -> Any:
    """Items until the one of this name comes, the others kept for later; or whichever is there, or none."""
    while (item := _taken(stash, name)) is _NONE:
        try:
            other = get()
        except Empty:
            return _any(stash)
        stash.setdefault(_digest(other), deque()).append(other)
    return item


def _any(stash: dict[str, deque[Any]]) -> Any:
    """One of the items that were kept for later, or none."""
    taken = (_taken(stash, name) for name in list(stash))
    return next((item for item in taken if item is not _NONE), _NONE)


def _taken(stash: dict[str, deque[Any]], name: str) -> Any:
    try:
        return stash[name].popleft()
    except (KeyError, IndexError):  # another thread may have taken it
        return _NONE


def _digest(item: Any) -> str:
    try:
        text = repr(item)
    except Exception:  # a foreign object's repr must not end the program
        text = type(item).__name__
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
