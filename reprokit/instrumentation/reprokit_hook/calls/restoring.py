"""Gives live objects the state that other objects were recorded with, in place, so that identities stay."""

from __future__ import annotations

import collections
import random
import sys
import types
from typing import Any

from . import generators
from .objects import attributes_of, is_compiled, name_of

_CONTAINERS = (list, dict, set, tuple, collections.deque)
_PLAIN = (int, float, complex, bool, str, bytes, type(None), type, types.FunctionType, types.ModuleType)


class Hole:
    """Stands in a pickle for what cannot be kept, such as a file: there the live object stays."""

    def __init__(self, name: str) -> None:
        self.name = name


def rebinds(owner: Any, kind: type) -> bool:
    """Whether an object's state lies in compiled code alone: it is replaced, not changed.

    ``__setstate__`` of a live object may succeed and leave it broken.
    """
    if generators.state_of(owner, kind) is not None or _is_array(kind) or kind in _CONTAINERS:
        return False
    compiled = any(is_compiled(one) for one in kind.__mro__ if one is not object)
    return compiled and not attributes_of(owner, kind)


def put_in_place(new: Any, old: Any, live: dict[int, Any], kept: list[str]) -> None:
    """Change ``old`` into ``new``.

    Args:
        new: As it was recorded.
        old: The live object.
        live: Takes up which live object stands for a recorded one, by its ``id``.
        kept: Takes up what could not be changed.
    """
    kind = type(old)
    if id(new) in live or type(new) is not kind or issubclass(kind, _PLAIN) or isinstance(new, Hole):
        return
    live[id(new)] = old
    try:
        if not (
            _generator(new, old, kind) or _array(new, old, kind) or _container(new, old, kind, live, kept)
        ):
            _object(new, old, kind, live, kept)
    except Exception as error:  # a foreign object that does not take it
        kept.append(f"{name_of(kind)} ({type(error).__name__})")


def _generator(new: Any, old: Any, kind: type) -> bool:
    if generators.state_of(old, kind) is None:
        return False
    if issubclass(kind, random.Random):
        random.Random.setstate(old, random.Random.getstate(new))
    elif hasattr(kind, "bit_generator"):
        old.bit_generator.state = new.bit_generator.state
    elif hasattr(kind, "state"):
        old.state = new.state
    else:
        old.set_state(new.get_state())
    return True


def _is_array(kind: type) -> bool:
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    return bool(
        (hasattr(numpy, "ndarray") and issubclass(kind, numpy.ndarray))  # type: ignore[union-attr]
        or (hasattr(torch, "Tensor") and issubclass(kind, torch.Tensor))  # type: ignore[union-attr]
    )


def _array(new: Any, old: Any, kind: type) -> bool:
    if not _is_array(kind):
        return False
    if kind.__module__.startswith("torch") or hasattr(kind, "detach"):
        if old.shape == new.shape:
            old.data.copy_(new.data)  # past autograd, which would take it for a change by the program
        if new.grad is not None:
            old.grad = new.grad
    elif old.flags.writeable:
        old[...] = new
    return True


def _container(new: Any, old: Any, kind: type, live: dict[int, Any], kept: list[str]) -> bool:
    """Elements that are there already are changed themselves: others may know them."""
    if kind is list or kind is collections.deque:
        for one, other in zip(new, old):
            put_in_place(one, other, live, kept)
        before = list(old)
        old.clear()
        old.extend(_one(one, before[at] if at < len(before) else one, live) for at, one in enumerate(new))
    elif kind is dict:
        for name, one in new.items():
            if name in old:
                put_in_place(one, old[name], live, kept)
        changed = {name: _one(one, old.get(name), live) for name, one in new.items()}
        old.clear()
        old.update(changed)
    elif kind is set:
        old.clear()
        old.update(new)
    elif kind is tuple:
        for one, other in zip(new, old):
            put_in_place(one, other, live, kept)
    else:
        return False
    return True


def _one(new: Any, old: Any, live: dict[int, Any]) -> Any:
    return old if isinstance(new, Hole) else live.get(id(new), new)


def _object(new: Any, old: Any, kind: type, live: dict[int, Any], kept: list[str]) -> None:
    found, now = attributes_of(new, kind), attributes_of(old, kind)
    if found is None or now is None:
        if any(is_compiled(one) for one in kind.__mro__ if one is not object):
            kept.append(name_of(kind))
        return
    for name, one in found.items():
        put_in_place(one, now.get(name), live, kept)
        object.__setattr__(old, name, _one(one, now.get(name), live))
    for name in set(now) - set(found):
        object.__delattr__(old, name)
