"""Tasks of thread pools one after another, in the order in which they were given.

A task that waits for another one would wait for ever: after some seconds it continues, and that is noted.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

from .. import imports

if TYPE_CHECKING:
    from ..watch import Watch

_LONGEST_S = 20.0


class _Turns:
    """One task at a time, in the order of the numbers that they were given."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.given = self.done = self.late = self.tasks = 0
        self.finished: set[int] = set()

    def number(self) -> int:
        with self.changed:
            self.given += 1
            return self.given - 1

    def wait(self, number: int) -> None:
        with self.changed:
            self.tasks += 1
            if not self.changed.wait_for(lambda: self.done >= number, timeout=_LONGEST_S):
                self.late += 1

    def end(self, number: int) -> None:
        with self.changed:
            self.finished.add(number)
            while self.done in self.finished:
                self.finished.remove(self.done)
                self.done += 1
            self.changed.notify_all()


def begin(watch: Watch) -> None:
    """Let the tasks of ``multiprocessing.pool.ThreadPool`` and ``ThreadPoolExecutor`` take turns."""
    turns = _Turns()

    def tell() -> None:
        watch.facts[f"turns {watch.process}"] = {"tasks": turns.tasks, "late": turns.late}

    watch.at_end.append(tell)
    imports.after("multiprocessing.pool", lambda module: _thread_pools(module, turns))
    imports.after("concurrent.futures.thread", lambda module: _executors(module, turns))


def _in_turn(turns: _Turns, work: Any) -> Any:
    """The same work, which waits for what was given before it."""
    number = turns.number()

    def wait_and_work(*args: Any, **words: Any) -> Any:
        turns.wait(number)
        try:
            return work(*args, **words)
        finally:
            turns.end(number)

    return wait_and_work


def _thread_pools(module: Any, turns: _Turns) -> None:
    natural = module.Pool.apply_async

    @functools.wraps(natural)
    def apply_async(self: Any, func: Any, *args: Any, **words: Any) -> Any:
        work = _in_turn(turns, func) if isinstance(self, module.ThreadPool) else func
        return natural(self, work, *args, **words)

    module.Pool.apply_async = apply_async
    natural_guarded = module.Pool._guarded_task_generation

    @functools.wraps(natural_guarded)
    def guarded(self: Any, result_job: Any, func: Any, iterable: Any) -> Any:
        for task in natural_guarded(self, result_job, func, iterable):
            threads = isinstance(self, module.ThreadPool)
            yield (*task[:2], _in_turn(turns, task[2]), *task[3:]) if threads else task

    module.Pool._guarded_task_generation = guarded


def _executors(module: Any, turns: _Turns) -> None:
    natural = module._WorkItem.__init__

    @functools.wraps(natural)
    def begin_item(self: Any, *args: Any, **words: Any) -> None:
        natural(self, *args, **words)
        if hasattr(self, "fn"):
            self.fn = _in_turn(turns, self.fn)
        elif hasattr(self, "task"):  # Python 3.14
            self.task = (_in_turn(turns, self.task[0]), *self.task[1:])

    module._WorkItem.__init__ = begin_item
