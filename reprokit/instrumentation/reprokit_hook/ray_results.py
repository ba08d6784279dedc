"""``ray.wait``: which results of Ray's tasks come first; at a pinned call site, those of the replayed run.

Only the process that waits is watched: the tasks run in processes that Ray starts.
"""

from __future__ import annotations

import functools
from random import Random
from typing import Any

from .frames import Site, own_caller, site_of
from .watch import Watch

#: How long a result of the other run is waited for: where the program would wait for ever, and where it would
#: not or one failed to come. Before a first result an actor's process starts, which takes seconds.
_LONG_S, _PATIENCE_S = 60.0, 5.0
#: For how long, and for how many, before one is drawn.
_MOMENT_S, _AHEAD = 0.02, 8


def watch_ray(module: Any, watch: Watch) -> None:
    """Number results by when they were first waited for; record, vary or replay which are ready first."""
    natural = module.wait
    results = _Results(natural, watch)

    @functools.wraps(natural)
    def wait(ray_waitables: Any, **options: Any) -> Any:
        frame = own_caller()
        if frame is None or not isinstance(ray_waitables, list):
            return natural(ray_waitables, **options)
        site = site_of(frame, "completion_order")
        ready = results.ready(site, ray_waitables, options)
        if ready:  # how often it was asked in vain is no order
            watch.order(site, ready, lambda one: str(results.number(one)), replay=False)
        taken = {results.number(one) for one in ready}
        return ready, [waitable for waitable in ray_waitables if results.number(waitable) not in taken]

    module.wait = wait


class _Results:
    """What a program waits for, numbered, so that runs can be compared with each other."""

    def __init__(self, natural: Any, watch: Watch) -> None:
        self._natural, self._watch = natural, watch
        self._numbers: dict[Any, int] = {}
        self._drawn: dict[Site, Random] = {}
        self._missed: set[Site] = set()

    def number(self, one: Any) -> int:
        """Its number; the reference itself is not kept, or its result would be."""
        key = one.binary() if hasattr(one, "binary") else id(one)
        return self._numbers.setdefault(key, len(self._numbers))

    def ready(self, site: Site, waitables: list[Any], options: dict[str, Any]) -> list[Any]:
        """The first that are ready: by nature, drawn, or those of the other run."""
        known = {self.number(waitable): waitable for waitable in waitables}
        wanted = list(self._watch.expected_order(site).values())
        if wanted and set(wanted) <= set(known):
            for_ever = options.get("timeout") is None and site not in self._missed
            patience_s = _LONG_S if for_ever else _PATIENCE_S
            found = self._wait([known[one] for one in wanted], options, len(wanted), patience_s)
            if len(found) == len(wanted):
                return [known[one] for one in wanted]
            self._missed.add(site)
        if self._watch.varies("completion_order"):
            count = options.get("num_returns", 1)
            found = self._wait(waitables, options, min(len(waitables), max(count, _AHEAD)), _MOMENT_S)
            if len(found) >= count:
                return self._drawn.setdefault(site, self._watch.random(site)).sample(found, count)
        found, _ = self._natural(waitables, **options)
        return list(found)

    def _wait(self, some: list[Any], options: dict[str, Any], count: int, timeout_s: float) -> list[Any]:
        found, _ = self._natural(some, **{**options, "num_returns": count, "timeout": timeout_s})
        return list(found)
