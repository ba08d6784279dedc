r"""The trainer's ``Config``, built from ``config.yaml``.

It reads the few lines of YAML that reprokit writes (sections by indentation, every value spelled as
JSON), so that an environment that trains needs no YAML package.

    >>> build(Config, parse("training:\n  learning_rate: 3.0e-4\n")).training.learning_rate
    0.0003

The limits ``Gt`` … ``MaxLen`` go into ``Annotated``; the host reads them in the source without
running it, and ``build`` checks every value against them again.
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from reprokit.errors import RecipeError

T = TypeVar("T")

_LINE = re.compile(r"(?P<indent> *)(?P<key>[A-Za-z_][A-Za-z0-9_]*):(?: (?P<value>\S.*))?")


@dataclass(frozen=True, slots=True)
class Gt:
    """Greater than."""

    bound: float


@dataclass(frozen=True, slots=True)
class Ge:
    """Greater than or equal to."""

    bound: float


@dataclass(frozen=True, slots=True)
class Lt:
    """Less than."""

    bound: float


@dataclass(frozen=True, slots=True)
class Le:
    """Less than or equal to."""

    bound: float


@dataclass(frozen=True, slots=True)
class MultipleOf:
    """A whole number of times the bound."""

    bound: float


@dataclass(frozen=True, slots=True)
class MinLen:
    """At least so many items."""

    bound: int


@dataclass(frozen=True, slots=True)
class MaxLen:
    """At most so many items."""

    bound: int


_KEEPS: Mapping[type, tuple[str, Callable[[Any, Any], bool]]] = {
    Gt: ("greater than", lambda value, bound: value > bound),
    Ge: ("at least", lambda value, bound: value >= bound),
    Lt: ("less than", lambda value, bound: value < bound),
    Le: ("at most", lambda value, bound: value <= bound),
    MultipleOf: ("a multiple of", lambda value, bound: value % bound == 0),
    MinLen: ("a list of at least", lambda value, bound: len(value) >= bound),
    MaxLen: ("a list of at most", lambda value, bound: len(value) <= bound),
}


def read(path: Path) -> dict[str, Any]:
    """The settings in a file that reprokit wrote.

    Raises:
        RecipeError: The file cannot be read, with its line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"the configuration cannot be read: {error}", where=str(path)) from error
    return parse(text, where=str(path))


def parse(text: str, *, where: str = "config.yaml") -> dict[str, Any]:
    """Settings from text: ``key:`` opens a section, ``key: <JSON>`` is a value, ``#`` a comment line.

    Raises:
        RecipeError: A line is neither, its indentation fits no section, or a key is there twice.
    """
    root: dict[str, Any] = {}
    open_sections: list[tuple[int, dict[str, Any]]] = [(0, root)]
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place, match = f"{where}:{number}", _LINE.fullmatch(line.rstrip())
        if match is None:
            raise RecipeError("not a setting", where=place, expected="key: value", actual=repr(line[:60]))
        indent, key = len(match["indent"]), match["key"]
        while open_sections[-1][0] > indent:
            open_sections.pop()
        expected, section = open_sections[-1]
        if indent != expected or key in section:
            what = f"{key} is there twice" if key in section else f"{key} is indented like no section"
            raise RecipeError(what, where=place)
        section[key] = {} if match["value"] is None else _value(match["value"], place)
        if match["value"] is None:
            open_sections.append((indent + 2, section[key]))
    return root


def build(config: type[T], settings: Mapping[str, Any], *, where: str = "config.yaml") -> T:
    """An instance of a (nested) dataclass, every value held against its annotation.

    Args:
        config: A dataclass whose fields are plain values or dataclasses.
        settings: Section → setting → value. What is left out has the dataclass's default.
        where: Named in errors.

    Raises:
        RecipeError: A setting is unknown, missing, of another type, or beyond its limits.
    """
    return typing.cast("T", _dataclass(config, settings, where=where, at=""))


def _value(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        fix = 'write text in double quotes: "tanh"'
        raise RecipeError(f"{text[:60]} is no JSON value", where=place, fix=fix) from error


def _dataclass(kind: Any, settings: Any, *, where: str, at: str) -> Any:
    if not isinstance(settings, Mapping):
        raise RecipeError(f"{at} is not a section", where=where, actual=repr(settings))
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    prefix = f"{at}." if at else ""
    unknown = [name for name in settings if name not in fields]
    if unknown:
        known = ", ".join(fields)
        raise RecipeError(f"unknown setting {prefix}{unknown[0]}", where=where, expected=f"one of {known}")
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name in settings:
            values[name] = _checked(hints[name], settings[name], where=where, at=f"{prefix}{name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            if not dataclasses.is_dataclass(hints[name]):
                raise RecipeError(f"{prefix}{name} is missing", where=where)
            values[name] = _dataclass(hints[name], {}, where=where, at=f"{prefix}{name}")
    return kind(**values)


def _checked(hint: Any, value: Any, *, where: str, at: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return _dataclass(hint, value, where=where, at=at)
    try:
        return _fitted(hint, value)
    except ValueError as error:
        raise RecipeError(
            f"{at} does not fit", where=where, expected=str(error), actual=repr(value)
        ) from None


def _fitted(hint: Any, value: Any) -> Any:
    """The value, as its annotation has it; ValueError says what would have fitted."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _limited(_fitted(inner[0], value), inner[1:])
    if origin in (typing.Union, types.UnionType):
        return _first_that_fits(inner, value)
    if origin is Literal:
        if any(value == choice and type(value) is type(choice) for choice in inner):
            return value
        raise ValueError(" or ".join(map(repr, inner)))
    if origin in (list, tuple):
        return _sequence(origin, inner, value)
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is hint or (hint is type(None) and value is None):
        return value
    raise ValueError(getattr(hint, "__name__", str(hint)))


def _limited(value: Any, limits: tuple[Any, ...]) -> Any:
    for limit in limits:
        words, keeps = _KEEPS.get(type(limit), ("", None))
        if keeps is not None and not keeps(value, limit.bound):
            raise ValueError(f"{words} {limit.bound}")
    return value


def _first_that_fits(hints: tuple[Any, ...], value: Any) -> Any:
    expected = []
    for hint in hints:
        try:
            return _fitted(hint, value)
        except ValueError as error:
            expected.append(str(error))
    raise ValueError(" or ".join(expected))


def _sequence(origin: type, inner: tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError("a list")  # noqa: TRY004 - told to the person who wrote it
    open_ended = origin is list or (len(inner) == 2 and inner[1] is ...)
    if not open_ended and len(inner) != len(value):
        raise ValueError(f"a list of {len(inner)}")
    hints = [inner[0]] * len(value) if open_ended else inner
    return origin(_fitted(hint, item) for hint, item in zip(hints, value, strict=True))
