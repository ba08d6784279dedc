"""Every generator that a worker of a loader can draw from, by a name that is the same in each worker.

Those that attributes, lists, closures and globals lead to have that path as their name. Others are found by
the garbage collector, which knows none of PyTorch's, and are named by the state they are found in.
"""

from __future__ import annotations

import functools
import gc
import random
import sys
import types
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from . import digests

_MOST_VISITED = 20_000
_MOST_MEMBERS = 1_000
_MOST = 256
_PLAIN = (int, float, complex, str, bytes, bytearray, type(None), type, types.ModuleType)


class TooMany(Exception):  # noqa: N818 - told in the record, never raised to the program
    """More generators than are looked at."""


def found(roots: dict[str, Any]) -> dict[str, Any]:
    """Name → generator, but for the global ones.

    Args:
        roots: Name → object from which a worker can reach what it draws from.

    Raises:
        TooMany: There are more than 256.
    """
    named: dict[str, Any] = {}
    for name, one in _reached(roots):
        named[_another(name, named)] = one
    known = {id(one) for one in named.values()}
    for one in _collected():
        if id(one) in known:
            continue
        named[_another(f"a {type(one).__name__} in the state {state(one)[:8]}", named)] = one
        if len(named) > _MOST:
            raise TooMany(f"there are more than {_MOST}")
    return named


def _another(name: str, taken: dict[str, Any]) -> str:
    number, given = 1, name
    while given in taken:
        number += 1
        given = f"{name} ({number})"
    return given


def state(one: Any) -> str:
    """A digest of what a generator will draw."""
    if isinstance(one, random.Random):
        return digests.of(repr(one.getstate()))
    if hasattr(one, "bit_generator"):
        return digests.of(repr(one.bit_generator.state))
    return digests.of(one.get_state() if _is_torch(one) else repr(one.get_state(legacy=False)))


def kinds() -> tuple[type, ...]:
    """Of the standard library, of NumPy and of PyTorch."""
    numpy = sys.modules.get("numpy")
    of_numpy = () if numpy is None else (numpy.random.Generator, numpy.random.RandomState)
    return (random.Random, sys.modules["torch"]._C.Generator, *of_numpy)


def _is_torch(one: Any) -> bool:
    return isinstance(one, sys.modules["torch"]._C.Generator)


def _counts(one: Any) -> bool:
    """Not the global ones, which are known, and none without a state that can be read here."""
    numpy, torch = sys.modules.get("numpy"), sys.modules["torch"]
    known = [random._inst, torch.default_generator]
    known += [] if numpy is None else [numpy.random.mtrand._rand]
    if any(one is other for other in known) or isinstance(one, random.SystemRandom):
        return False
    return not _is_torch(one) or one.device.type == "cpu"


def _collected() -> Iterator[Any]:
    everything = gc.get_objects()
    wanted = {kind for kind in set(map(type, everything)) if issubclass(kind, kinds())}
    return iter([one for one in everything if type(one) in wanted and _counts(one)])


def _reached(roots: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    wanted, waiting = kinds(), deque(roots.items())
    seen: set[int] = set()
    plain = (*_PLAIN, sys.modules["torch"].Tensor)
    count = 0
    while waiting and len(seen) < _MOST_VISITED:
        name, one = waiting.popleft()
        if issubclass(type(one), plain) or id(one) in seen:
            continue
        seen.add(id(one))
        if not issubclass(type(one), wanted):
            waiting.extend(_inside(name, one))
        elif _counts(one):
            count += 1
            if count > _MOST:
                raise TooMany(f"there are more than {_MOST}")
            yield name, one


def _inside(name: str, one: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(one, dict):
        for key, value in list(one.items())[:_MOST_MEMBERS]:
            yield f"{name}[{key!r}]" if isinstance(key, (str, int)) else f"{name}[..]", value
    elif isinstance(one, (list, tuple)):
        for number, value in enumerate(one[:_MOST_MEMBERS]):
            yield f"{name}[{number}]", value
    elif isinstance(one, types.FunctionType):
        yield from _of_function(name, one)
    elif isinstance(one, types.MethodType):
        yield from ((f"{name}.__self__", one.__self__), (name, one.__func__))
    elif isinstance(one, functools.partial):
        yield from ((name, one.func), (f"{name}.args", one.args), (f"{name}.keywords", one.keywords))
    else:
        with suppress(AttributeError):  # asked of no proxy, which might load or compute something
            for key, value in list(object.__getattribute__(one, "__dict__").items()):
                yield f"{name}.{key}", value


def _of_function(name: str, one: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for key in one.__code__.co_names:
        if key in one.__globals__:
            yield f"{one.__module__}.{key}", one.__globals__[key]
    for key, cell in zip(one.__code__.co_freevars, one.__closure__ or ()):
        if cell != types.CellType():
            yield f"{name}.{key}", cell.cell_contents
    yield f"{name}.__defaults__", one.__defaults__
