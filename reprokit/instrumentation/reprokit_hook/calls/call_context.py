"""What was around a call: generators that it draws from, threads that it starts, what it can be told."""

from __future__ import annotations

import inspect
import io
import json
import os
import threading
from typing import TYPE_CHECKING, Any

from . import generators
from .walk import Seen, digest, fingerprint

if TYPE_CHECKING:
    from ..watch import Watch
    from .stream import Call

_open = io.open  # as it was before the program changed it
_MOST_PATHS = 40
_started: list[int] = []


def tell(watch: Watch, record: dict[str, Any]) -> None:
    """Write what was seen of a site at once: a worker may be killed."""
    path = os.path.join(watch.out, f"calls-{watch.process}.jsonl")
    with _open(path, "a", encoding="utf-8") as stream:
        stream.write(json.dumps(record) + "\n")


class CallContext:
    """Begun before a call and asked for after it."""

    def __init__(self, call: Call, seen: Seen) -> None:
        self._call, self._seen = call, seen
        self._before = generators.as_bytes(generators.states())
        self._generators = self._in([call.owner, call.arguments, call.words])
        _count_threads()
        self._threads = len(_started)

    def found(self, result: Any) -> dict[str, Any]:
        """The record of the call, which gave this; with the global generators that it drew from."""
        now = generators.as_bytes(generators.states())
        drawn = {name: fingerprint(state) for name, state in self._before.items() if now.get(name) != state}
        found = {**drawn, **self._generators} or {
            f"its result{path}": one for path, one in self._in(result).items()
        }
        return {
            "site": self._call.site,
            "generators": dict(list(found.items())[:_MOST_PATHS]),
            "python_threads": len(_started) - self._threads,
            "native_threads": _native_threads(),
            "parameters": _parameters(self._call),
            "settings": _settings(self._call),
        }

    def _in(self, value: Any) -> dict[str, str]:
        found: dict[str, str] = {}
        digest(value, self._seen, generators_at=found)
        return found


def _count_threads() -> None:
    """From now on, count the threads of Python that are started."""
    natural = threading.Thread.start
    if getattr(natural, "_counts", False):
        return

    def start(self: Any) -> None:
        _started.append(1)
        natural(self)

    start._counts = True  # type: ignore[attr-defined]
    threading.Thread.start = start  # type: ignore[method-assign]


def _native_threads() -> int:
    try:
        return max(0, len(os.listdir("/proc/self/task")) - threading.active_count())
    except OSError:
        return 0


def _parameters(call: Call) -> list[str]:
    """What the call takes by name, and what its object was made with."""
    found: list[str] = []
    for one in (call.called, type(call.owner).__init__ if call.owner is not None else None):
        try:
            found += list(inspect.signature(one).parameters)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
    return found


def _settings(call: Call) -> list[str]:
    """The names in dictionaries that the call is given, such as ``nthread`` in XGBoost's ``params``."""
    given = [one for one in (*call.arguments, *call.words.values()) if type(one) is dict]
    return [name for one in given for name in list(one)[:_MOST_PATHS] if type(name) is str]
