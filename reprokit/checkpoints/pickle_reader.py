"""The part of pickle that a checkpoint needs, interpreted here so that nothing of a file can run.

Only the instructions and names that ``torch.save`` writes are accepted: where pickle would import and call,
this compares with a short list. Sources: the standard library's pickletools, which describes every
instruction; torch.serialization.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from reprokit.checkpoints import pickle_numpy
from reprokit.checkpoints.flatten import dict_key
from reprokit.checkpoints.tensors import DTYPES, STORAGES, DType, view
from reprokit.errors import CheckpointError

#: Reads the data of a storage by its key in the file.
Storage = Callable[[str], bytes]

_MARK = object()
_UNTYPED = DType("untyped", "u1")
_CALLED = {
    "torch._utils _rebuild_tensor_v2": "tensor",
    "torch._utils _rebuild_tensor_v3": "tensor",
    "torch._utils _rebuild_parameter": "parameter",
    "collections OrderedDict": "dict",
    "torch Size": "size",
}
_VALUES = frozenset({"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE"})
_EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
_FIXED = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_PUT, _GET = frozenset({"BINPUT", "LONG_BINPUT"}), frozenset({"BINGET", "LONG_BINGET"})
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_UNTRUSTED = "do not load this file, and find out who wrote it"
_OLDER = "if an older program of yours wrote it: `reprokit runs checkpoint convert` accepts NumPy arrays"
_MAX_INTEGER_BYTES = 256  # NumPy's generators hold integers of 16 bytes


@dataclass(frozen=True, slots=True)
class _Name:
    """A name that the file mentions; it is looked up here and never imported."""

    what: str
    dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class _Bytes:
    """The data of a storage, and the type of its elements."""

    content: bytes
    dtype: DType


def load(pickled: bytes, *, storage: Storage | None, with_numpy: bool = False) -> Any:
    """Read a pickle as dicts, lists, tuples, numbers, text and ``Tensor``.

    ``storage`` None: there are none. ``with_numpy``: accept NumPy arrays, which older programs wrote, as
    tensors.

    Raises:
        CheckpointError: It is corrupt, or holds anything else: a call, a class, a module.
    """
    machine = _Machine(storage=storage, with_numpy=with_numpy)
    try:
        for opcode, argument, _ in pickletools.genops(io.BytesIO(pickled)):
            machine.step(opcode.name, argument)
    except CheckpointError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"its pickle is corrupt: {str(error)[:120]}") from error
    return machine.result


@dataclass(slots=True)
class _Machine:
    """Pickle's stack, its memo, and the storages of tensors."""

    storage: Storage | None
    with_numpy: bool = False
    stack: list[Any] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    numbers: dict[int, list[int]] = field(default_factory=dict)  # id of what is in the memo → its numbers
    result: Any = None

    def step(self, name: str, argument: Any) -> None:
        """Execute one instruction."""
        if name in _VALUES:
            if name == "LONG1" and argument.bit_length() > 8 * _MAX_INTEGER_BYTES:
                raise CheckpointError("it holds an integer of more than 256 bytes")
            self.stack.append(argument)
        elif name in _FIXED:
            self.stack.append(_FIXED[name])
        elif name in _EMPTY:
            self.stack.append(_EMPTY[name]())
        elif name in _PUT:
            self.memo[argument] = self.stack[-1]
            self.numbers.setdefault(id(self.stack[-1]), []).append(argument)
        elif name in _GET:
            self.stack.append(self.memo[argument])
        elif name in _TUPLES:
            self._tuple(_TUPLES[name])
        elif name in _STEPS:
            _STEPS[name](self, argument)
        elif name != "PROTO":
            raise CheckpointError(
                f"it uses the instruction {name}, which no checkpoint needs: loading it could run code",
                fix=_UNTRUSTED,
            )

    def _tuple(self, size: int) -> None:
        self.stack[-size:] = [tuple(self.stack[-size:])]

    def _mark(self, _argument: Any) -> None:
        self.marks.append(len(self.stack))
        self.stack.append(_MARK)

    def _since_mark(self) -> list[Any]:
        at = self.marks.pop()
        if self.stack[at] is not _MARK:
            raise ValueError("a mark was taken for a value")
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items

    def _tuple_since_mark(self, _argument: Any) -> None:
        self.stack.append(tuple(self._since_mark()))

    def _append(self, _argument: Any) -> None:
        item = self.stack.pop()
        _a(list, self.stack[-1]).append(item)

    def _appends(self, _argument: Any) -> None:
        items = self._since_mark()
        _a(list, self.stack[-1]).extend(items)

    def _set(self, _argument: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        _a(dict, self.stack[-1])[dict_key(key)] = value

    def _sets(self, _argument: Any) -> None:
        items = self._since_mark()
        target = _a(dict, self.stack[-1])
        target.update(zip(map(dict_key, items[::2]), items[1::2], strict=True))

    def _global(self, argument: str) -> None:
        module, _, what = argument.partition(" ")
        if argument in _CALLED:
            self.stack.append(_Name(_CALLED[argument]))
        elif argument in pickle_numpy.CALLED and self.with_numpy:
            self.stack.append(_Name(pickle_numpy.CALLED[argument]))
        elif module == "torch" and what in STORAGES:
            self.stack.append(_Name("storage", STORAGES[what]))
        elif argument == "torch.storage UntypedStorage":
            self.stack.append(_Name("storage", _UNTYPED))
        elif module == "torch" and what in DTYPES:
            self.stack.append(_Name("dtype", DTYPES[what]))
        else:
            raise CheckpointError(
                f"it names {argument.replace(' ', '.')[:80]}, which no checkpoint needs: "
                "loading it could run code",
                fix=_OLDER if argument in pickle_numpy.CALLED else _UNTRUSTED,
            )

    def _stored(self, _argument: Any) -> None:
        kind, name, key, _device, _count = self.stack.pop()
        if kind != "storage" or _a(_Name, name).dtype is None or self.storage is None:
            raise CheckpointError("it refers to data that belong to no tensor", actual=repr(kind)[:80])
        self.stack.append(_Bytes(self.storage(_a(str, key)), name.dtype))

    def _call(self, _argument: Any) -> None:
        arguments, name = self.stack.pop(), self.stack.pop()
        what = _a(_Name, name).what
        if what == "tensor":
            self.stack.append(_tensor(*arguments))
        elif what == "parameter":
            self.stack.append(arguments[0])
        elif what == "dict" and not arguments:
            self.stack.append({})
        elif what == "size":
            self.stack.append(tuple(arguments[0]))
        elif what in pickle_numpy.CALLED.values():
            self.stack.append(pickle_numpy.begin(what, arguments))
        else:
            raise CheckpointError(f"it calls {what} with unexpected arguments")

    def _build(self, _argument: Any) -> None:
        state = self.stack.pop()  # of a dict: attributes that torch sets on it, such as versions of modules
        if not isinstance(begun := self.stack[-1], pickle_numpy.Unfinished):
            _a(dict, begun)
            return
        self.stack[-1] = pickle_numpy.finish(begun, state)
        for number in self.numbers.get(id(begun), ()):
            if self.memo[number] is begun:
                self.memo[number] = self.stack[-1]

    def _stop(self, _argument: Any) -> None:
        self.result = self.stack.pop()


_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "MARK": _Machine._mark,
    "TUPLE": _Machine._tuple_since_mark,
    "APPEND": _Machine._append,
    "APPENDS": _Machine._appends,
    "SETITEM": _Machine._set,
    "SETITEMS": _Machine._sets,
    "GLOBAL": _Machine._global,
    "BINPERSID": _Machine._stored,
    "REDUCE": _Machine._call,
    "BUILD": _Machine._build,
    "STOP": _Machine._stop,
}


def _tensor(
    stored: _Bytes,
    offset: int,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    *further: Any,
) -> Any:
    """The result of ``torch._utils._rebuild_tensor_v2`` and ``_v3``.

    ``further``: whether it needs a gradient, and its hooks; of v3 its type, and metadata.
    """
    dtype = further[2] if len(further) > 2 else None
    kind = dtype.dtype if isinstance(dtype, _Name) and dtype.dtype else _a(_Bytes, stored).dtype
    return view(stored.content, kind, offset=offset, shape=tuple(shape), stride=tuple(stride))


def _a(kind: type, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    raise CheckpointError("its pickle is corrupt", expected=kind.__name__, actual=type(value).__name__)
