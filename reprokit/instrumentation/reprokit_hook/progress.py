"""How far a program is in its training, which events are digested, and the events themselves, in order.

Orders (``progress`` in the watch's): ``mode``, and what goes with it.

- ``measure``: digests at updates and in windows of environment steps that are chosen on the way, so that
  each kind takes at most 0.5 % of the run's time. The choice is recorded in the trace.
- ``follow``: at those that another run has chosen (``schedules``: process → updates and windows).
- ``narrow``: at every one between two places of the run (``from``, ``to``: updates and steps done).
- ``deep``: there, every operation and every draw as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from . import current
from .generator_states import Generators

_SHARE = 0.005
_WINDOW = 64
_MOST_EVENTS = 20_000
if TYPE_CHECKING:
    Digests = dict[str, str]
else:  # before Python 3.9 they take no parameters
    Digests = dict


class TrainingProgress:
    """Of one process.

    Attributes:
        updates: How many optimizer steps are done.
        steps: How many steps of environments.
        due: Whether the next update is to be digested.
        window: Whether the next step of an environment is.
        wake: From how many steps on ``look`` must be called after each.
        fine: Whether every event is recorded by itself.
        changed: Called whenever ``due`` has changed.
        flush: Called before an event is written, so that earlier ones come before it.
        rank: Of the process among those that train by ``torch.distributed``; None where it is alone.
    """

    def __init__(self, orders: dict[str, Any], process: str) -> None:
        self.orders = orders
        self.mode: str = orders.get("mode", "")
        self.fine = self.mode in {"narrow", "deep"}
        self.generators = Generators()
        self.changed: list[Callable[[], None]] = []
        self.flush: list[Callable[[], None]] = []
        self._began = perf_counter()
        self.restart(process)

    def __reduce__(self) -> Any:
        """In another process: that process's own."""
        return of_this_process, ()

    def restart(self, process: str) -> None:
        """Count from zero: the process has begun, or was forked."""
        chosen = self.orders.get("schedules", {}).get(process, {})
        self.updates = self.steps = 0
        self.rank: int | None = None
        self.events: list[dict[str, Any]] = []
        self._updates = _Choice(self.mode, chosen.get("updates", ()), length=1, began=self._began)
        self._windows = _Choice(self.mode, chosen.get("windows", ()), length=_WINDOW, began=self._began)
        self.due = self.window = False
        self.wake = 0.0
        self.look()

    def updated(self, streams: Digests, *, spent: float) -> None:
        """An update is done; ``streams`` is empty where it was not due."""
        if streams:
            self._flush()
            self.rank = _rank() if self.rank is None else self.rank
        self.updates += 1
        if streams:
            self.write("update", streams)
            self._updates.took(spent)
        self.look()

    def tell(self, event: str, streams: Digests) -> None:
        """Write an event: what it is, where the run is after it, and the digests."""
        self._flush()
        self.write(event, streams)

    def write(self, event: str, streams: Digests) -> None:
        if len(self.events) < _MOST_EVENTS:
            place = {"event": event, "updates": self.updates, "steps": self.steps}
            self.events.append({**place, "streams": streams})

    def spent(self, seconds: float) -> None:
        self._windows.took(seconds)

    def as_data(self) -> dict[str, Any]:
        self._flush()
        return {
            "mode": self.mode,
            "rank": self.rank,
            "updates": self.updates,
            "steps": self.steps,
            "spent_s": self._updates.spent + self._windows.spent,
            "schedule": {"updates": self._updates.chosen, "windows": self._windows.chosen},
            "events": self.events,
        }

    def _flush(self) -> None:
        for act in self.flush:
            act()

    def look(self) -> None:
        """Decide whether what comes next is digested: after an update, or a counted environment step."""
        if self.fine:
            due = window = self._within()
        else:
            due, window = self._updates.now(self.updates), self._windows.now(self.steps)
        if window != self.window and not window:
            self.window = window
            self._flush()
        self.window = window
        self.wake = 0 if self.fine or window else self._windows.wake
        if due != self.due:
            self.due = due
            for act in self.changed:
                act()

    def _within(self) -> bool:
        (updates, steps), (last_update, last_step) = self.orders["from"], self.orders["to"]
        return bool(updates <= self.updates <= last_update and steps <= self.steps <= last_step)


def of_this_process() -> TrainingProgress | None:
    """What came in a function of another process records here, if anything is recorded here."""
    watch = current()
    return None if watch is None else watch.progress


def _rank() -> int | None:
    """Asked while it trains: afterwards the group may be gone."""
    group = sys.modules.get("torch.distributed")
    if group is None or not group.is_available() or not group.is_initialized():
        return None
    return int(group.get_rank()) if group.get_world_size() > 1 else None


class _Choice:
    """Which of a growing number are looked at: stretches of one length, ever farther apart."""

    def __init__(self, mode: str, given: Any, *, length: int, began: float) -> None:
        self.spent = 0.0
        self.chosen: list[int] = []
        self._mode, self._length, self._began = mode, length, began
        self._given = list(given)
        self._gap = 0
        self._from = 0 if mode == "measure" else self._pop()

    def _pop(self) -> int:
        return self._given.pop(0) if self._given else -1

    @property
    def wake(self) -> float:
        """Before so many nothing is looked at."""
        return self._from if self._from >= 0 else float("inf")

    def took(self, seconds: float) -> None:
        self.spent += seconds

    def now(self, number: int) -> bool:
        """Whether what comes after so many is looked at."""
        if self._from < 0 or number < self._from:
            return False
        if not self.chosen or self.chosen[-1] != self._from:
            self.chosen.append(self._from)
        if number < self._from + self._length:
            return True
        if self._mode == "measure":
            if self.spent > _SHARE * (perf_counter() - self._began):
                self._gap = max(2 * self._gap, self._length)
            self._from = number + self._gap
        else:
            self._from = self._pop()
        return self.now(number)
