"""Several runs at one time, a thread each; none continues after a fault or Ctrl-C."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeVar

_Item = TypeVar("_Item")


class StartsApart:
    """Lets runs begin so many seconds apart at least. Safe to use from several threads.

    Args:
        seconds: How long after a run the next one begins.
        stop: Ends all waiting.
    """

    def __init__(self, seconds: float, *, stop: threading.Event) -> None:
        self._seconds, self._stop = seconds, stop
        self._lock, self._next = threading.Lock(), -math.inf

    def wait(self) -> None:
        """Return when the next run may begin, or none is to begin any more."""
        with self._lock:
            self._stop.wait(max(0.0, self._next - time.monotonic()))
            self._next = time.monotonic() + self._seconds


def in_threads(
    one: Callable[[_Item], object], items: Iterable[_Item], *, workers: int, stop: threading.Event
) -> None:
    """Call ``one`` for each item, at most ``workers`` at one time.

    Args:
        one: Runs one item.
        items: What is to be run, in the order in which it begins.
        workers: How many threads.
        stop: Set where one has failed or Ctrl-C came; ``one`` has to look at it.

    Raises:
        BaseException: The first that ``one`` raised, after all threads have ended.
    """

    def stop_if_it_failed(ended: Future[object]) -> None:
        if not ended.cancelled() and ended.exception() is not None:
            stop.set()  # called in the thread that ran it, before this takes the next item

    with ThreadPoolExecutor(max_workers=workers) as pool:
        futures = []
        for item in items:
            futures.append(pool.submit(one, item))
            futures[-1].add_done_callback(stop_if_it_failed)
        try:
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
        except BaseException:  # Ctrl-C, or a fault in one thread: nothing may continue behind it
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
