"""The watch over one program: which sources of chance it draws on, and from which of its lines.

``start`` reads its orders from the file that REPROKIT_HOOK names, and leaves ``trace-<process>.json`` in
the folder that the orders name. It knows what is called; it refuses to know what that means.

    >>> start()   # by sitecustomize
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .watching import Watch

_current: list[Watch] = []


def current() -> Watch | None:
    """The watch over this process; None before it began."""
    return _current[0] if _current else None


def start() -> None:
    """Begin the watch in this process; its children begin their own."""
    from . import arrays, concurrency, files, imports, processes, rewriting, standard, tensors
    from .watching import Watch

    watch = Watch.from_orders(os.environ["REPROKIT_HOOK"])
    _current[:] = [watch]
    standard.watch(watch)
    files.watch(watch)
    processes.watch_open(watch)
    concurrency.watch(watch)
    imports.after("numpy.random", lambda module: arrays.watch_numpy_random(module, watch))
    imports.after("concurrent.futures", lambda module: concurrency.watch_futures(module, watch))
    for kind in ("thread", "process"):
        imports.after(f"concurrent.futures.{kind}", lambda module: concurrency.watch_executors(module, watch))
    imports.after("multiprocessing.pool", lambda module: concurrency.watch_pools(module, watch))
    imports.after("multiprocessing.pool", lambda module: concurrency.watch_callbacks(module, watch))
    imports.after("asyncio.tasks", lambda module: concurrency.watch_asyncio(module, watch))
    imports.after("multiprocessing.queues", lambda module: concurrency.watch_queues(module, watch))
    imports.after("queue", lambda module: concurrency.watch_queues(module, watch))
    imports.after("subprocess", lambda module: processes.watch_subprocess(module, watch))
    imports.after("tempfile", lambda module: processes.watch_temporary(module, watch))
    imports.after("torch", lambda module: tensors.watch_torch(module, watch))
    imports.begin()
    rewriting.begin(watch)
