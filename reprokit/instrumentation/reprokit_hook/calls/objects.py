"""Objects of all kinds, part by part: what a walk adds of containers, functions, generators, instances."""

from __future__ import annotations

import collections
import copyreg
import enum
import io
import os
import threading
import types
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from . import arrays, generators, own_values

if TYPE_CHECKING:
    from .walk import Walk

_HEAP_TYPE = 1 << 9
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
#: What has no value of its own, or one that must not be read.
_OPAQUE = (
    *_LOCKS,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
    types.FrameType,
    types.TracebackType,
    threading.Thread,
    threading.Event,
    threading.Condition,
    threading.Semaphore,
    threading.local,
    io.IOBase,
)
_OPAQUE_HOMES = frozenset(
    [
        *("weakref", "_weakref", "_thread", "ctypes", "_ctypes", "logging", "asyncio", "_asyncio", "queue"),
        *("concurrent", "multiprocessing", "_multiprocessing", "socket", "_socket", "select", "_queue"),
        *("sqlite3", "itertools", "_io", "tempfile", "subprocess", "reprokit_hook"),
    ]
)
_DESCRIPTORS = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    property,
    staticmethod,
    classmethod,
)
_PLAIN_REDUCE: Any = object.__reduce__
_PLAIN_REDUCE_EX: Any = object.__reduce_ex__
_PLAIN_GETSTATE = getattr(object, "__getstate__", None)


def add(walk: Walk, value: Any, kind: type) -> None:
    """Add something that is no number and no text."""
    for one in (_container, _code, _known_value, _array, _by_name, _instance):
        if one(walk, value, kind):
            return


def _container(walk: Walk, value: Any, kind: type) -> bool:
    if kind is list or kind is tuple:
        walk.leaf(b"%s%d" % (b"[" if kind is list else b"(", len(value)))
        walk.items(value)
    elif kind is dict:
        walk.leaf(b"{%d" % len(value))
        walk.pairs(list(value.items()))
    elif kind is set or kind is frozenset:
        walk.leaf(b"<%d" % len(value))
        walk.unordered(value)
    elif kind is collections.deque:
        walk.leaf(b"[%d" % len(value))
        walk.items(list(value))
    elif kind is os._Environ:
        own = {
            name: one for name, one in value.items() if not name.startswith(("REPROKIT_", "PYTHONHASHSEED"))
        }
        walk.pairs(own.items())
    else:
        return False
    return True


def _code(walk: Walk, value: Any, kind: type) -> bool:
    """Functions, classes and modules: by name, with what functions hold."""
    if issubclass(kind, type):
        walk.leaf(b"T" + name_of(value).encode())
    elif issubclass(kind, types.ModuleType):
        walk.leaf(b"M" + str(types.ModuleType.__getattribute__(value, "__dict__").get("__name__")).encode())
    elif kind is types.MethodType:
        walk.leaf(b"m" + str(getattr(value.__func__, "__qualname__", "?")).encode())
        walk.go(value.__self__, ".__self__")
    elif kind is types.FunctionType:
        walk.leaf(f"f{value.__module__}.{value.__qualname__}".encode())
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
            if cell != types.CellType():
                walk.go(cell.cell_contents, f".{name}")
        walk.go(value.__defaults__, ".__defaults__")
        walk.go(value.__kwdefaults__, ".__kwdefaults__")
    elif kind in (types.BuiltinFunctionType, types.MethodWrapperType):
        walk.leaf(b"c" + value.__qualname__.encode())
        if not isinstance(value.__self__, types.ModuleType):
            walk.go(value.__self__, ".__self__")
    elif issubclass(kind, _DESCRIPTORS):
        walk.leaf(b"d" + str(getattr(value, "__qualname__", kind.__name__)).encode())
    else:
        return False
    return True


def _known_value(walk: Walk, value: Any, kind: type) -> bool:
    """Generators of random numbers, and values whose own state would tell of this run."""
    home = _home(kind)
    if home == "uuid" and kind.__name__ == "UUID":
        walk.leaf(b"uuid" if value.version == 4 else str(value).encode())
    elif home == "datetime" and kind.__name__ == "datetime":
        own = False
        with suppress(OverflowError, ValueError, OSError):
            own = own_values.is_moment(value.timestamp(), walk.seen.began)
        walk.leaf(b"clock" if own else repr(value).encode())
    elif home == "pathlib" and any("__fspath__" in one.__dict__ for one in kind.__mro__):
        walk.go(os.fspath(value))
    elif issubclass(kind, enum.Enum):
        walk.leaf(f"{name_of(kind)}.{value._name_}".encode())
    elif kind in (io.BytesIO, io.StringIO):
        walk.go(None if value.closed else [value.getvalue(), value.tell()])
    else:
        state = generators.state_of(value, kind)
        if state is None:
            return False
        walk.generator(kind, state)
    return True


def _array(walk: Walk, value: Any, kind: type) -> bool:
    try:
        found = arrays.parts_of(value, kind)
    except Exception as error:  # a fake or functional tensor has no bytes
        walk.miss(kind, type(error).__name__)
        return True
    if found is None:
        return False
    data, rest = found
    walk.leaf(b"a" + b";".join(map(walk.short, data)))
    if rest is not None:
        walk.go(rest, ".grad" if _home(kind) == "torch" else "")
    return True


def _by_name(walk: Walk, value: Any, kind: type) -> bool:
    """What is never read: streams, locks, iterators."""
    iterates = any("__next__" in one.__dict__ and is_compiled(one) for one in kind.__mro__)
    if iterates or issubclass(kind, _OPAQUE) or _home(kind) in _OPAQUE_HOMES:
        walk.miss(kind, "an iterator" if iterates else "a stream, a lock, or the like")
        return True
    return False


def _instance(walk: Walk, value: Any, kind: type) -> bool:
    """Any other object: attributes and slots, what it inherits from a container, then compiled state."""
    walk.leaf(b"I" + name_of(kind).encode())
    if _home(kind) == "numba" and any(
        "py_func" in one.__dict__ or one.__name__ == "Dispatcher" for one in kind.__mro__
    ):
        walk.go(value.py_func, ".py_func")  # its pickle holds a name that is drawn by chance
        return True
    found = attributes_of(value, kind)
    if found and _has_a_handle(found) and _told_by_python(walk, value, kind):
        return True
    compiled = [one for one in kind.__mro__ if one is not object and is_compiled(one)]
    inherited = next((one for one in compiled if one in _INHERITED), None)
    if inherited is not None:
        walk.go(_INHERITED[inherited](value), ".items")
    if found is not None and (not compiled or inherited is not None or found):
        walk.attributes(found)
    if compiled and inherited is None and not issubclass(kind, BaseException):
        _compiled_state(walk, value, kind, found)
    elif issubclass(kind, BaseException):
        walk.go(value.args, ".args")
    return True


def _has_a_handle(found: dict[str, Any]) -> bool:
    """Whether attributes hold a pointer: what it points to is compiled code's, and no attribute shows it."""
    return any(_home(type(one)) in ("ctypes", "_ctypes") for one in found.values())


def _told_by_python(walk: Walk, value: Any, kind: type) -> bool:
    """Read what an object's own ``__getstate__`` tells of what its pointer leads to, where it has one."""
    get_state: Any = getattr(kind, "__getstate__", _PLAIN_GETSTATE)
    if get_state is _PLAIN_GETSTATE:
        return False
    read, state = walk.guarded(kind, lambda: get_state(value))
    if read:
        walk.attributes(state) if type(state) is dict else walk.go(state, ".state")
    return read


#: Containers and plain values that classes inherit from: how their content is read.
_INHERITED: dict[type, Callable[[Any], Any]] = {
    collections.OrderedDict: lambda value: dict(collections.OrderedDict.items(value)),
    dict: lambda value: dict(dict.items(value)),
    list: lambda value: list(list.__iter__(value)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: set(frozenset.__iter__(value)),
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    collections.deque: lambda value: list(collections.deque.__iter__(value)),
}


def attributes_of(value: Any, kind: type) -> dict[str, Any] | None:
    """``__dict__`` and slots, read past what the class makes of attributes; None where there are none."""
    found: dict[str, Any] | None = None
    for one in kind.__mro__:
        descriptor: Any = one.__dict__.get("__dict__")
        if type(descriptor) in (types.GetSetDescriptorType, types.MemberDescriptorType):
            own = descriptor.__get__(value, kind)
            found = dict(own) if isinstance(own, dict) else found
            break
    for one in kind.__mro__:
        slots = one.__dict__.get("__slots__", ()) if not is_compiled(one) else ()
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            private = f"_{one.__name__.lstrip('_')}{name}" if name.startswith("__") else name
            member = one.__dict__.get(name, one.__dict__.get(private))
            if type(member) is types.MemberDescriptorType:
                found = {} if found is None else found
                try:
                    found[name] = member.__get__(value, kind)
                except AttributeError:
                    continue
    return found


def is_compiled(kind: type, known: dict[type, bool] = {}) -> bool:  # noqa: B006 - kept for the next call
    """Whether a class was made by compiled code, which may hold what no attribute shows."""
    if kind not in known:
        known[kind] = not kind.__flags__ & _HEAP_TYPE or any(
            _of_compiled(one, kind) for one in kind.__dict__.values()
        )
    return known[kind]


def _of_compiled(member: Any, kind: type) -> bool:
    if type(member) in (types.WrapperDescriptorType, types.MethodDescriptorType):
        return member.__objclass__ is kind
    return type(member) is types.BuiltinFunctionType and member.__self__ is kind


def _compiled_state(walk: Walk, value: Any, kind: type, found: dict[str, Any] | None) -> None:
    reduce = copyreg.dispatch_table.get(kind)
    plain = kind.__reduce__ is _PLAIN_REDUCE and kind.__reduce_ex__ is _PLAIN_REDUCE_EX
    if reduce is None and plain and getattr(kind, "__getstate__", _PLAIN_GETSTATE) is _PLAIN_GETSTATE:
        if kind is not object and (kind.__basicsize__ > object.__basicsize__ or kind.__itemsize__):
            walk.miss(kind, "compiled, and cannot be pickled")
        return
    ask = reduce if reduce is not None else (lambda one: one.__reduce_ex__(4))
    read, made = walk.guarded(kind, lambda: ask(value))
    if not read:
        return
    if isinstance(made, str):
        walk.leaf(made.encode())
        return
    walk.go(made[0], ".made_by")
    for number, one in enumerate(
        made[1] if getattr(made[0], "__name__", "") != "__newobj__" else made[1][1:]
    ):
        walk.go(one, f".given[{number}]")
    if len(made) > 2 and made[2] is not None and not (found and made[2] is found):
        state = made[2]
        walk.attributes(state) if type(state) is dict and found is None else walk.go(state, ".state")
    for number in (3, 4):
        if len(made) > number and made[number] is not None:
            walk.go(list(made[number]), ".items")


def _home(kind: type) -> str:
    module = getattr(kind, "__module__", "")
    return module.partition(".")[0] if isinstance(module, str) else ""


def name_of(kind: type) -> str:
    """The full name of a type."""
    module = getattr(kind, "__module__", "")
    return f"{module}.{kind.__qualname__}" if isinstance(module, str) else kind.__qualname__
