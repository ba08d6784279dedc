"""The standard library's sources of chance: random, entropy, clocks, names of process and host, listings.

Each is wrapped where it lives. What the program's own code calls is recorded with its line; what a library
calls for itself passes through, but for entropy and listings, whose caller is looked for further up.

    >>> watch(a_watch)
"""

from __future__ import annotations

import functools
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from . import told_values
from .frames import own_caller, site_of
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
#: Those that tell the date; the others begin anywhere, so that every run sees others already.
_DATED = ("time", "time_ns")
_TOLD = ("localtime", "gmtime", "strftime", "ctime", "asctime")
_DRAWS = (
    "random",
    "uniform",
    "randint",
    "choice",
    "choices",
    "sample",
    "shuffle",
    "randrange",
    "gauss",
    "normalvariate",
    "lognormvariate",
    "betavariate",
    "expovariate",
    "gammavariate",
    "triangular",
    "paretovariate",
    "weibullvariate",
    "vonmisesvariate",
    "getrandbits",
    "randbytes",
)
_DAY_S = 86_400
_LONG = 6


def watch(watch: Watch) -> None:
    """Wrap all of them."""
    _clocks(watch)
    _entropy(watch)
    _global_random(watch)
    told_values.watch(watch)
    _environment(watch)
    _listings(watch)


def _clocks(watch: Watch) -> None:
    for name in _CLOCKS:
        if hasattr(time, name):
            shift = _DAY_S * (10**9 if name.endswith("_ns") else 1) if name in _DATED else None
            told_values.wrap(time, name, "clock", watch, shift=shift)
    for name in _TOLD:
        told_values.wrap(time, name, "clock", watch, at_most=1 if name == "strftime" else 0)


def _entropy(watch: Watch) -> None:
    natural = os.urandom

    def urandom(size: int) -> bytes:
        frame = own_caller()
        return natural(size) if frame is None else watch.entropy(site_of(frame, "entropy"), size)

    os.urandom = urandom
    random._urandom = urandom  # type: ignore[attr-defined]
    if hasattr(os, "getrandom"):
        _getrandom(watch, urandom)

    def uuid4() -> uuid.UUID:
        return uuid.UUID(bytes=urandom(16), version=4)

    uuid.uuid4 = uuid4


def _getrandom(watch: Watch, urandom: Callable[[int], bytes]) -> None:
    def getrandom(size: int, flags: int = 0) -> bytes:
        return urandom(size)

    os.getrandom = getrandom


def _global_random(watch: Watch) -> None:
    """``random.Random`` without a seed, and the module's own generator until somebody seeds it."""
    seed = random.Random.seed
    module: Any = random._inst
    state = {"seeded": False}
    of_site: dict[str, random.Random] = {}

    def seeding(self: random.Random, a: Any = None, version: int = 2) -> None:
        frame = own_caller() if a is None else None
        if frame is not None:
            a = int.from_bytes(watch.entropy(site_of(frame, "unseeded"), 32), "little")
        if self is module:
            state["seeded"] = True
            _is_seeded(watch)
        seed(self, a, version)

    random.Random.seed = seeding  # type: ignore[method-assign]
    random.seed = functools.partial(seeding, module)
    setstate: Any = module.setstate

    def restored(state_of_generator: Any) -> None:
        state["seeded"] = True
        _is_seeded(watch)
        setstate(state_of_generator)

    setattr(random, "setstate", restored)  # noqa: B010 - typeshed gives it another parameter
    for name in _DRAWS:
        if hasattr(random, name):
            setattr(random, name, _unseeded(getattr(random, name), name, state, of_site, watch))


def _is_seeded(watch: Watch) -> None:
    if watch.progress is not None:
        watch.progress.generators.seeded.add("random")


def _unseeded(
    natural: Any, name: str, state: dict[str, bool], of_site: dict[str, random.Random], watch: Watch
) -> Any:
    @functools.wraps(natural, assigned=("__name__", "__doc__"))
    def draw(*args: Any, **options: Any) -> Any:
        frame = None if state["seeded"] else own_caller()
        if frame is None:
            return natural(*args, **options)
        site = site_of(frame, "unseeded")
        generator = of_site.get(where := f"{watch.context}{site[1]}:{site[2]}")
        if generator is None:
            generator = of_site[where] = watch.random(site)
        value = getattr(generator, name)(*args, **options)
        watch.seen(site, f"{name} {watch.random(site).getrandbits(64):x}", what=f"random.{name}")
        return value

    draw.__module__ = "random"
    draw.__qualname__ = name
    return draw


def _environment(watch: Watch) -> None:
    kind = type(os.environ)
    natural = kind.__getitem__

    def read(self: Any, key: Any) -> Any:
        frame = own_caller(limit=_LONG)
        if frame is None or str(key).startswith("REPROKIT_HOOK"):
            return natural(self, key)
        site = site_of(frame, "environment")
        try:
            return watch.value(site, lambda: natural(self, key))
        finally:
            watch.sites[f"environment|{site[1]}|{site[2]}"]["what"] = f"the variable {key}"

    kind.__getitem__ = read  # type: ignore[method-assign]


def _listings(watch: Watch) -> None:
    listdir, scandir = os.listdir, os.scandir

    def ordered(items: list[Any], key: Callable[[Any], str]) -> list[Any]:
        frame = own_caller(3)
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
    """What ``os.scandir`` returns: an iterator that can be closed."""

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
