"""The standard library's sources of randomness: random, entropy, clocks, environment variables, listings.

Each is wrapped where it is defined. Calls from the program's own code are recorded with their line; calls
from a library pass through, except for entropy and listings, which are attributed to the program's line.
"""

from __future__ import annotations

import functools
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from . import system_values
from .frames import own_caller, own_reader, site_of
from .library_clocks import LibraryClocks
from .unseeded_draws import GlobalGenerator
from .watch import Watch

_CLOCKS = (
    "time",
    "time_ns",
    "perf_counter",
    "perf_counter_ns",
    "monotonic",
    "monotonic_ns",
    "process_time",
    "process_time_ns",
    "thread_time",
    "clock_gettime",
)
#: Those that give the date; the others start at an arbitrary time, so they differ between runs anyway.
_DATED = ("time", "time_ns", "clock_gettime")
_TEXTS = ("localtime", "gmtime", "strftime", "ctime", "asctime")
_DAY_S = 86_400
_LONG, _MOST_NAMED = 6, 4


def watch(watch: Watch) -> None:
    """Wrap all of them."""
    _clocks(watch)
    _entropy(watch)
    _global_random(watch)
    system_values.watch(watch)
    _environment(watch)
    _listings(watch)


def _clocks(watch: Watch) -> None:
    libraries = LibraryClocks(watch)
    for name in _CLOCKS:
        if hasattr(time, name):
            shift = _DAY_S * (10**9 if name.endswith("_ns") else 1) if name in _DATED else None
            system_values.wrap(
                time, name, "clock", watch, system_values.Answers(shift=shift, deep=libraries.reader(name))
            )
    for name in _TEXTS:
        system_values.wrap(
            time, name, "clock", watch, system_values.Answers(at_most=1 if name == "strftime" else 0)
        )


def _entropy(watch: Watch) -> None:
    natural = os.urandom

    def urandom(size: int) -> bytes:
        frame = own_reader()
        return natural(size) if frame is None else watch.entropy(site_of(frame, "entropy"), size)

    os.urandom = urandom
    random._urandom = urandom  # type: ignore[attr-defined]
    if hasattr(os, "getrandom"):
        os.getrandom = lambda size, flags=0: urandom(size)  # noqa: ARG005 - os.getrandom's parameter

    def uuid4() -> uuid.UUID:
        return uuid.UUID(bytes=urandom(16), version=4)

    uuid.uuid4 = uuid4


def _global_random(watch: Watch) -> None:
    """``random.Random`` without a seed, and the module's own generator until someone seeds it."""
    seed = random.Random.seed
    module: Any = random._inst
    default = GlobalGenerator("random", lambda drawn: drawn, watch)

    def seeding(self: random.Random, a: Any = None, version: int = 2) -> None:
        frame = own_reader() if a is None else None
        if frame is not None:
            a = int.from_bytes(watch.entropy(site_of(frame, "unseeded"), 32), "little")
        if self is module:
            default.seeded()
        seed(self, a, version)

    random.Random.seed = seeding  # type: ignore[method-assign]
    random.seed = functools.partial(seeding, module)
    random.setstate = default.seeding(module.setstate)
    os.register_at_fork(after_in_child=default.unseeded)  # as `random` itself does: its seed is not kept
    for name, draw in list(vars(random).items()):
        if name != "getstate" and getattr(draw, "__self__", None) is module:
            setattr(random, name, default.drawing(draw, name))


def _environment(watch: Watch) -> None:
    kind = type(os.environ)
    natural = kind.__getitem__

    def read(self: Any, key: Any) -> Any:
        frame = own_caller(limit=_LONG)  # ports and ranks that a library reads deep inside must stay
        if frame is None or str(key).startswith("REPROKIT_HOOK"):
            return natural(self, key)
        site = site_of(frame, "environment")
        value = watch.value(
            site,
            lambda: found(self, key),
            encode=lambda value: [key, value],
            decode=lambda both: both[1] if both[0] == key else found(self, key),
        )
        _add_variable(watch.sites[f"environment|{site[1]}|{site[2]}"], str(key))
        if value is None:
            raise KeyError(key)
        return value

    def found(variables: Any, key: Any) -> Any:
        try:
            return natural(variables, key)
        except KeyError:
            return None  # that it is not there is a value too

    kind.__getitem__ = read  # type: ignore[method-assign]


def _add_variable(record: dict[str, Any], name: str) -> None:
    """Name what was read at a line, or by a library on its behalf."""
    read = record.setdefault("variables", [])
    if name not in read and len(read) < _MOST_NAMED:
        read.append(name)
        record["what"] = f"the variable{'s' if len(read) > 1 else ''} {', '.join(read)}"


def _listings(watch: Watch) -> None:
    listdir, scandir = os.listdir, os.scandir

    def ordered(items: list[Any], key: Callable[[Any], str]) -> list[Any]:
        frame = own_reader(3)
        if frame is None or getattr(watch.busy, "quiet", False):
            return items
        return watch.order(site_of(frame, "directory_order"), items, key, vary="directory_order")

    def listed(path: Any = ".") -> list[Any]:
        return ordered(listdir(path), str)

    def scanned(path: Any = ".") -> Any:
        with scandir(path) as entries:
            return _Entries(ordered(list(entries), lambda entry: str(entry.name)))

    os.listdir = listed
    os.scandir = scanned


class _Entries:
    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def close(self) -> None:
        """Nothing is open."""
        self._entries = iter(())

    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
