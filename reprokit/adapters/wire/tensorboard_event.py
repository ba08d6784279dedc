"""One event of a TensorBoard file, read from its protobuf bytes: the step, and a value for each tag.

Only what is compared is decoded: scalars and texts; of anything else the bytes are given. Unknown fields are
skipped, as protobuf asks of readers.
Source: tensorflow's event.proto, summary.proto and tensor.proto.

    >>> parse(data)
    Event(step=256, values=(('loss', 0.5),))
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from reprokit.adapters.wire.protobuf_wire import BYTES, FIXED32, VARINT, Field, fields, signed, varint

#: Numbers of fields: of an event, of a summary, of one value in it, of a tensor, of a tensor's shape.
_STEP, _SUMMARY, _SESSION = 2, 5, 7
#: Of which an event, and a value, has one: the last of several would count, or all of them put together.
_ONE_OF_EVENT, _ONE_OF_VALUE = frozenset(range(3, 10)), frozenset({2, 3, 4, 5, 6, 8})
_VALUE = 1
_STATUS, _START = 1, 1
_TAG, _SIMPLE, _TENSOR = 1, 2, 8
_DTYPE, _SHAPE, _CONTENT, _STRINGS = 1, 2, 4, 8
_DIM = 2
_DT_STRING = 7
_SCALAR_TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}  # tensorflow's DataType
#: Fields of a tensor that hold numbers: what a packed one holds, or None for varints.
_NUMBERS: dict[int, str | None] = {5: "<f", 6: "<d", 7: None, 10: None}

Scalar = float | int | str | bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What one event says."""

    step: int  # its step
    # Tag and value: a number, a text, or the bytes of what is neither. None without a summary.
    values: tuple[tuple[str, Scalar], ...] | None
    restart: bool = False  # a session starts here: earlier events of this step or a later one are void


def parse(data: bytes) -> Event:
    """Read one event.

    Raises:
        ValueError: These bytes are no event.
    """
    step, values, restart = 0, None, False
    for number, wire, value in _fields_with_one_of(data, _ONE_OF_EVENT):
        if number == _STEP and wire == VARINT and isinstance(value, int):
            step = signed(value)
        elif number == _SUMMARY and wire == BYTES and isinstance(value, bytes):
            found = (one for field, _, one in fields(value) if field == _VALUE and isinstance(one, bytes))
            values = (*(values or ()), *map(_value, found))
        elif number == _SESSION and wire == BYTES and isinstance(value, bytes):
            restart = (_STATUS, VARINT, _START) in list(fields(value))
    return Event(step=step, values=values, restart=restart)


def _value(data: bytes) -> tuple[str, Scalar]:
    tag, held = "", None
    for number, wire, value in _fields_with_one_of(data, _ONE_OF_VALUE):
        if number == _TAG and isinstance(value, bytes):
            tag = value.decode("utf-8")
        elif number == _SIMPLE and wire == FIXED32 and isinstance(value, bytes):
            held = struct.unpack("<f", value)[0]
        elif number == _TENSOR and isinstance(value, bytes):
            held = _tensor(value)
    return tag, data if held is None else held


def _fields_with_one_of(data: bytes, alternatives: frozenset[int]) -> list[Field]:
    """The fields of a message that holds at most one of some."""
    found = list(fields(data))
    if sum(number in alternatives for number, _, _ in found) > 1:
        raise ValueError("it has several values where there is one")
    return found


def _tensor(data: bytes) -> float | int | str | None:
    """A scalar or a text; None for any other tensor."""
    held = dict[int, list[int | bytes]]()
    for number, _, value in fields(data):
        held.setdefault(number, []).append(value)
    dtype = held.get(_DTYPE, [0])[-1]
    if dtype == _DT_STRING and _STRINGS in held:
        return _text(_only_bytes(held, _STRINGS))
    dims = sum(field == _DIM for shape in _only_bytes(held, _SHAPE) for field, _, _ in fields(shape))
    if dtype not in _SCALAR_TYPES or dims:
        return None
    numbers = [one for field, form in _NUMBERS.items() for one in _numbers(form, held.get(field, []))]
    content = b"".join(_only_bytes(held, _CONTENT)[-1:])
    if len(numbers) == 1 or not content:
        return numbers[0] if len(numbers) == 1 else None
    found: float | int = np.frombuffer(content, _SCALAR_TYPES[dtype])[0].item()
    return found


def _text(strings: list[bytes]) -> str | None:
    """The one string of a tensor; None for several, or for bytes that are not UTF-8."""
    try:
        return strings[0].decode("utf-8") if len(strings) == 1 else None
    except UnicodeDecodeError:
        return None


def _only_bytes(held: Mapping[int, list[int | bytes]], number: int) -> list[bytes]:
    return [one for one in held.get(number, []) if isinstance(one, bytes)]


def _numbers(form: str | None, values: Iterable[int | bytes]) -> Iterator[float | int]:
    """The numbers of a repeated field, which may be packed into one or stand one by one."""
    for value in values:
        if isinstance(value, int):
            yield signed(value)
        elif form is not None:
            if len(value) % struct.calcsize(form):
                raise ValueError("a number is cut off")
            yield from (one for (one,) in struct.iter_unpack(form, value))
        else:
            at = 0
            while at < len(value):
                number, at = varint(value, at)
                yield signed(number)
