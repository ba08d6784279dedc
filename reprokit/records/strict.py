"""A JSON file read once, strictly, into a record whose annotations say what each key may hold.

    >>> from reprokit.core.run_record import RunOwner
    >>> typed({"pid": 1, "started": 2}, RunOwner)
    RunOwner(pid=1, started=2, boot=None, machine=None)
    >>> typed({"pid": True}, RunOwner)
    Traceback (most recent call last):
    reprokit.records.strict.FormError: pid

A record is a named tuple, a frozen dataclass, or a ``TypedDict``, which stays the object that it was. A key
that it does not have may hold anything: a newer version wrote it. A key that is missing stands for the
default: an older version did not write it yet.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, cast

from reprokit.regular_file import read_regular

Record = TypeVar("Record")
_Reader = Callable[[Any, str], Any]

#: More than any record of ours holds; a program can make a file larger than memory.
_MAX_BYTES = 256 << 20
_SHOWN = 60


class FormError(ValueError):
    """A value that is not of the form that its key has: the place, what it may be, what it is."""

    def __init__(self, place: str, *, expected: str, actual: object) -> None:
        super().__init__(place)
        self.place = place
        self.expected = expected
        self.actual = _shown(actual)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; a key that is repeated is refused, because readers disagree on it.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is too large, is not JSON, holds no object, or repeats a key.
    """
    content = read_regular(path, most_bytes=_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"it is larger than {_MAX_BYTES} bytes")
    try:
        value = json.loads(content, object_pairs_hook=without_repeats)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if isinstance(value, dict):
        return value
    raise ValueError("it does not hold a JSON object")


def typed(value: Any, form: type[Record]) -> Record:
    """A JSON object as a record of this class.

    Raises:
        FormError: A value is not of the form that its key has.
    """
    record: Record = _reader(cast("Any", form))(value, "")
    return record


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The ``object_pairs_hook`` of everything that must be one value to all readers of a file.

    Raises:
        ValueError: A key is repeated.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {repeated[:80]!r} is repeated")
    return found


@functools.cache
def _reader(form: Any) -> _Reader:
    """What reads a value of an annotation."""
    origin, inside = typing.get_origin(form), typing.get_args(form)
    if origin is not None:
        return _of_several(origin, inside)
    if typing.is_typeddict(form):
        return _checked(form)
    if dataclasses.is_dataclass(form) or hasattr(form, "_field_defaults"):
        return _record(form)
    if isinstance(form, type) and issubclass(form, Enum):
        return _word(form)
    return _anything if form is Any else _scalar(form)


def _of_several(origin: Any, inside: tuple[Any, ...]) -> _Reader:
    if origin is Mapping:
        return _values(_reader(inside[1]))
    if origin in {tuple, Sequence}:
        return _items(_reader(inside[0]))
    return _one_of(inside)


def _anything(value: Any, _: str) -> Any:
    return value


def _checked(form: Any) -> _Reader:
    readers = {name: _reader(kind) for name, kind in typing.get_type_hints(form).items()}

    def read(value: Any, at: str) -> Any:
        if not isinstance(value, dict):
            raise FormError(at, expected="an object", actual=value)
        for name, reader in readers.items():
            if name in value:
                reader(value[name], _below(at, name))
        return value

    return read


def _record(form: Any) -> _Reader:
    annotations, defaults = typing.get_type_hints(form), _with_default(form)
    readers = {name: _reader(annotations[name]) for name in annotations}
    needed = [name for name in annotations if name not in defaults]

    def read(value: Any, at: str) -> Any:
        if not isinstance(value, dict):
            raise FormError(at, expected="an object", actual=value)
        for name in needed:
            if name not in value:
                raise FormError(_below(at, name), expected="a value", actual=None)
        return form(
            **{
                name: reader(value[name], _below(at, name))
                for name, reader in readers.items()
                if name in value and not (value[name] is None and name in defaults)
            }
        )

    return read


def _with_default(form: Any) -> set[str]:
    """The names that may be missing, of a named tuple or a dataclass."""
    if not dataclasses.is_dataclass(form):
        return set(form._field_defaults)
    no_default = dataclasses.MISSING
    return {
        field.name
        for field in dataclasses.fields(form)
        if field.default is not no_default or field.default_factory is not no_default
    }


def _one_of(inside: tuple[Any, ...]) -> _Reader:
    readers = [_reader(one) for one in inside if one is not types.NoneType]
    may_be_none = types.NoneType in inside

    def read(value: Any, at: str) -> Any:
        if value is None and may_be_none:
            return None
        for reader in readers[:-1]:
            try:
                return reader(value, at)
            except FormError as error:
                if error.place != at:
                    raise
        return readers[-1](value, at)

    return read


def _items(reader: _Reader) -> _Reader:
    def read(value: Any, at: str) -> Any:
        if not isinstance(value, list):
            raise FormError(at, expected="a list", actual=value)
        return tuple([reader(item, at) for item in value])

    return read


def _values(reader: _Reader) -> _Reader:
    def read(value: Any, at: str) -> Any:
        if not isinstance(value, dict):
            raise FormError(at, expected="an object", actual=value)
        return {name: reader(inner, _below(at, name)) for name, inner in value.items()}

    return read


def _word(form: type[Enum]) -> _Reader:
    def read(value: Any, at: str) -> Any:
        try:
            return form(value)
        except ValueError:
            raise FormError(at, expected=" or ".join(str(one) for one in form), actual=value) from None

    return read


def _scalar(form: Any) -> _Reader:
    kinds = {int: (int,), float: (int, float), str: (str,), bool: (bool,)}[form]
    expected = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}[form]

    def read(value: Any, at: str) -> Any:
        if type(value) not in kinds or (form is float and not _is_finite(value)):
            raise FormError(at, expected=expected, actual=value)
        return value

    return read


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond float64
        return False


def _below(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = "null" if value is None else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
