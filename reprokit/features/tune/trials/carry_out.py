"""The trials of a search, several at a time, each run in its own folder.

Threads take trials in the order of their numbers and wait until their settings can be drawn, so the first
trial that has not ended never waits for another.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprokit.errors import UsageError
from reprokit.features.tune.definition import NO_PRUNER
from reprokit.features.tune.search import Search
from reprokit.features.tune.trials.live_rule import LiveRule
from reprokit.features.tune.trials.results import ReusableRun
from reprokit.features.tune.trials.trial_runs import Run, result_of, run_with_seed
from reprokit.harness.running.threads_of_runs import in_threads
from reprokit.harness.sweeping.carry_out import Attempt, SweepProgress, run_member
from reprokit.harness.sweeping.groups import SweepGroup

_LOOK_AGAIN_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """How many runs are made at one time, and where.

    Attributes:
        workers: How many.
        cores: Core numbers, of which each run that is pinned gets one; empty for no pinning.
        progress: Told how far they are.
    """

    workers: int
    cores: Sequence[int]
    progress: SweepProgress


def carry_out(search: Search, *, trials: int, pool: Pool) -> None:
    """Bring every trial below a number to its end.

    Args:
        search: The search; its results are added.
        trials: How many.
        pool: What runs them.

    Raises:
        CannotRunError: A run could not be made, for a reason that says nothing of its settings.
        UsageError: No trial has the metric that was asked for; trials that were under way have ended.
        KeyboardInterrupt: All programs have been stopped and their folders closed.
    """
    stop = threading.Event()
    run = _runner(search, pool, stop=stop)
    refused: list[UsageError] = []

    def one(number: int) -> None:
        params = _drawn(search, number, is_over=lambda: bool(refused) or stop.is_set())
        if params is not None and not refused and not stop.is_set():
            made: list[int] = []

            def make(at: int, group: SweepGroup, rule: LiveRule | None) -> None:
                made.append(at)
                run(at, group, rule)

            try:
                trial = result_of(search, number, params, run=make)
            except UsageError as error:
                refused.append(error)
                return
            if trial is not None:
                search.ended(trial, reused=not made)

    in_threads(one, range(trials), workers=pool.workers, stop=stop)
    if refused:
        raise refused[0]


def run_seeds(
    search: Search, params: Mapping[str, Any], seeds: Sequence[int], *, pool: Pool
) -> list[ReusableRun]:
    """The runs of some settings with several seeds, those that are missing made now.

    Raises:
        CannotRunError: A run could not be made, for a reason that says nothing of its settings.
        KeyboardInterrupt: All programs have been stopped and their folders closed.
    """
    stop = threading.Event()
    run = _runner(search, pool, stop=stop)
    ended: dict[int, ReusableRun] = {}

    def one(seed: int) -> None:
        found = run_with_seed(search, params, seed, run=run)
        if found is not None:
            ended[seed] = found

    in_threads(one, seeds, workers=pool.workers, stop=stop)
    return [ended[seed] for seed in seeds]


def _runner(search: Search, pool: Pool, *, stop: threading.Event) -> Run:
    """Makes one run at a time on each of so many cores."""
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(pool.workers):
        free.put(number)

    def run(at: int, group: SweepGroup, rule: LiveRule | None) -> None:
        place = free.get()
        try:
            run_member(
                search.board,
                at,
                group,
                Attempt(
                    number=search.board.members[at].attempts + 1,
                    core=pool.cores[place % len(pool.cores)] if pool.cores else None,
                    lane=place,
                ),
                progress=pool.progress,
                stop=stop,
                why_stop=rule.why_stop if rule else None,
            )
        finally:
            free.put(place)

    return run


def _drawn(search: Search, number: int, *, is_over: Callable[[], bool]) -> dict[str, object] | None:
    """The settings of a trial, once they can be drawn and its rule be made; None where there are none."""
    with search.condition:
        while not is_over():
            params = search.suggestions.settings_of(number)
            waits = search.definition.pruner != NO_PRUNER and not search.suggestions.may_begin(number)
            if search.suggestions.has_ended(number) or (params is not None and not waits):
                return params
            search.condition.wait(_LOOK_AGAIN_S)
    return None
