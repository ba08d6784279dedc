"""Threads of Python one at a time: each continues until it waits for another, then the next one that can.

What they wait for (conditions, and so queues, events, semaphores and futures; the end of a thread; a pause)
gives way in the order in which it was asked for, which is the same in each run. A thread that waits for what
Python does not see, such as a bare lock, holds all others up: after some seconds all run freely, and that
is noted.
"""

from __future__ import annotations

import collections
import functools
import os
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..watch import Watch

_LONGEST_S = 20.0


class _One:
    """A thread, and the gate at which it waits until it is its turn."""

    def __init__(self) -> None:
        self.gate = threading.Lock()
        self.gate.acquire()
        self.ended, self.waiting = False, False
        self.joining: list[_One] = []


class _Waiter:
    """What a condition keeps of one that waits: told once, by its ``release``."""

    def __init__(self, turns: Turns, one: _One) -> None:
        self._turns, self._one, self.told = turns, one, False

    def release(self) -> None:
        self.told = True
        self._turns.ready(self._one)


class Turns:
    """Which thread continues."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._ready: collections.deque[_One] = collections.deque()
        self._own = threading.local()
        self.running: _One | None = _One()
        self._own.one = self.running
        self.started, self.late, self._free = 0, 0, False

    def current(self) -> _One | None:
        """The thread that asks, where it takes turns; None where all continue freely."""
        one: _One | None = getattr(self._own, "one", None)
        return None if self._free or getattr(self._own, "apart", False) else one

    def ready(self, one: _One) -> None:
        """A thread can continue; it does at once if no other one is at work."""
        with self._mutex:
            if one.waiting:
                one.waiting = False
                self._ready.append(one)
            if self._free:
                self._all_go_on()
            elif self.running is None:
                self._next()

    def forked(self) -> None:
        """In a new process there is one thread, which continues as it likes."""
        self._mutex, self._free = threading.Lock(), True
        self._ready.clear()

    def free(self) -> None:
        """From now on, all continue as they like."""
        with self._mutex:
            self._all_go_on()

    def _all_go_on(self) -> None:
        self._free = True
        while self._ready:
            self._ready.popleft().gate.release()

    def _next(self) -> None:
        self.running = self._ready.popleft() if self._ready else None
        if self.running is not None:
            self.running.gate.release()

    def leave(self, one: _One, *, timeout: float | None = None, again: bool = False) -> None:
        """Let the next one continue, and wait; ``again``: this one can continue as soon as it is its turn."""
        with self._mutex:
            one.waiting = not again
            if again:
                self._ready.append(one)
            if self._free:
                self._all_go_on()
            else:
                self._next()
        if timeout is not None and not one.gate.acquire(timeout=max(0.0, timeout)):
            self.ready(one)
            timeout = None
        elif timeout is not None:
            return
        self._wait(one)

    def _wait(self, one: _One) -> None:
        while not one.gate.acquire(timeout=_LONGEST_S):
            self._free_if_stuck(one)

    def _free_if_stuck(self, one: _One) -> None:
        """Let all continue freely where one holds them up that waits for what is not seen here."""
        with self._mutex:
            if not self._free and self.running is not None and not one.waiting:
                self.late += 1
                self._all_go_on()

    def start(self, thread: threading.Thread, natural: Callable[[threading.Thread], None]) -> None:
        """Start a thread: its turn comes when that of the one that starts it is over."""
        if self.current() is None:
            natural(thread)
            return
        one, run = _One(), thread.run
        thread._turn = one  # type: ignore[attr-defined]

        def in_turn() -> None:
            self._own.one = one
            self._wait(one)
            try:
                run()
            finally:
                self._end(one)

        thread.run = in_turn  # type: ignore[method-assign]
        self._own.apart = True  # that it has begun is waited for without giving way
        try:
            natural(thread)
        finally:
            self._own.apart = False
        with self._mutex:
            self.started += 1
            self._ready.append(one)
            if self._free:
                self._all_go_on()

    def _end(self, one: _One) -> None:
        with self._mutex:
            one.ended = True
            for other in one.joining:
                if other.waiting:
                    other.waiting = False
                    self._ready.append(other)
            if self._free:
                self._all_go_on()
            elif self.running is one:
                self._next()

    def join(self, thread: Any, timeout: float | None) -> None:
        """Wait for the end of a thread."""
        one, other = self.current(), getattr(thread, "_turn", None)
        if one is None or other is None:
            return
        with self._mutex:
            if other.ended:
                return
            other.joining.append(one)
        self.leave(one, timeout=timeout)


def begin(watch: Watch) -> None:
    """From now on, let the threads of this process go on one at a time."""
    turns = Turns()

    def tell() -> None:
        watch.facts[f"turns {watch.process}"] = {"tasks": turns.started, "late": turns.late}

    watch.at_end.append(tell)
    os.register_at_fork(after_in_child=turns.forked)
    if hasattr(threading, "_register_atexit"):  # its interpreter waits for threads without being seen
        threading._register_atexit(turns.free)
    queue.SimpleQueue = queue._PySimpleQueue  # type: ignore[attr-defined, misc]
    _threads(turns)
    _conditions(turns)


def _threads(turns: Turns) -> None:
    start, join, sleep = threading.Thread.start, threading.Thread.join, time.sleep

    @functools.wraps(start)
    def started(self: threading.Thread) -> None:
        turns.start(self, start)

    @functools.wraps(join)
    def joined(self: threading.Thread, timeout: float | None = None) -> None:
        turns.join(self, timeout)
        join(self, timeout)

    def paused(seconds: Any) -> None:
        sleep(seconds)
        one = turns.current()
        if one is not None:
            turns.leave(one, again=True)

    threading.Thread.start = started  # type: ignore[method-assign]
    threading.Thread.join = joined  # type: ignore[method-assign]
    time.sleep = paused


def _conditions(turns: Turns) -> None:
    natural = threading.Condition.wait

    @functools.wraps(natural)
    def wait(self: Any, timeout: float | None = None) -> bool:
        one = turns.current()
        if one is None:
            return natural(self, timeout)
        waiter = _Waiter(turns, one)
        self._waiters.append(waiter)
        saved = self._release_save()
        try:
            turns.leave(one, timeout=timeout)
        finally:
            self._acquire_restore(saved)
        if not waiter.told and waiter in self._waiters:
            self._waiters.remove(waiter)
        return waiter.told

    threading.Condition.wait = wait  # type: ignore[method-assign]
