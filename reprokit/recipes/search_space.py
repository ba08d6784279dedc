"""A search space: a YAML file that gives each setting the values that a search may try.

>>> read_search_space(Path("space.yaml"))[0].as_data()
{'type': 'float', 'low': 1e-05, 'high': 0.001, 'log': True}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from reprokit.errors import RecipeError
from reprokit.recipes.document import Document, KeyPath, read_text
from reprokit.recipes.mistakes import combined, did_you_mean, quoted
from reprokit.recipes.setting_origin import dotted
from reprokit.recipes.source_file import decoded, read_bytes

_KEYS = ("type", "low", "high", "log", "step", "choices")
_TYPES = ("float", "int", "categorical")
_FORM = "a section with `type`, and `low` and `high` or `choices`"


class SettingData(TypedDict, total=False):
    """A distribution as a search space writes it: its limits, or its ``choices``."""

    type: str
    low: Any
    high: Any
    log: bool
    step: Any
    choices: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """The values that one setting may take.

    Attributes:
        setting: Its dotted path, as ``--set`` names it.
        kind: ``float``, ``int`` or ``categorical``.
        low: The smallest value; None of a categorical one.
        high: The largest value, which is among them.
        log: Whether values are drawn on a logarithmic scale.
        step: Distance between neighbouring values; None for none.
        choices: The values of a categorical one, any plain data.
        where: ``file:line`` for messages.
    """

    setting: str
    kind: str
    low: float | None = None
    high: float | None = None
    log: bool = False
    step: float | None = None
    choices: tuple[Any, ...] = ()
    where: str = field(default="", compare=False)

    def as_data(self) -> SettingData:
        """It as a search space writes it."""
        if self.kind == "categorical":
            return {"type": self.kind, "choices": list(self.choices)}
        data: SettingData = {"type": self.kind, "low": self.low, "high": self.high, "log": self.log}
        return data if self.step is None else {**data, "step": self.step}


def read_search_space(path: Path) -> tuple[Distribution, ...]:
    """The distributions in a file, in its order.

    A setting is a dotted path, or a key in sections of the names that its path has.

    Raises:
        RecipeError: The file is no search space; every mistake with its line.
    """
    where = str(path)
    document = read_text(decoded(read_bytes(path), where=where), where=where)
    reader = _Reader(file=where, document=document)
    if not isinstance(document.data, dict) or not document.data:
        raise RecipeError("there is no setting", where=where, expected=f"settings, each {_FORM}")
    found = [one for one in reader.section(document.data, ()) if one is not None]
    names = [one.setting for one in found]
    for one in found:
        if names.count(one.setting) > 1:
            reader.note(f"the setting {one.setting} is there twice", (), where=one.where)
    if reader.mistakes:
        raise combined(reader.mistakes, where=where)
    return tuple(found)


@dataclass(slots=True, kw_only=True)
class _Reader:
    """A file on its way to distributions, and the mistakes so far."""

    file: str
    document: Document
    mistakes: list[RecipeError] = field(default_factory=list)

    def note(self, what: str, path: KeyPath, *, where: str = "", **parts: str | None) -> None:
        self.mistakes.append(RecipeError(what, where=where or self.where(path), **parts))

    def where(self, path: KeyPath) -> str:
        while path not in self.document.lines:
            path = path[:-1]
        return f"{self.file}:{self.document.lines[path]}"

    def section(self, data: Mapping[str, Any], path: KeyPath) -> Iterator[Distribution | None]:
        for key, value in data.items():
            place = (*path, key)
            if not isinstance(value, dict):
                self.note(f"{_name(place)} is {quoted(value)}", place, expected=_FORM)
            elif "type" in value or not any(isinstance(one, dict) for one in value.values()):
                yield self.distribution(value, place)
            else:
                yield from self.section(value, place)

    def distribution(self, data: Mapping[str, Any], path: KeyPath) -> Distribution | None:
        before = len(self.mistakes)
        for key in data:
            if key not in _KEYS:
                self.note(f"unknown key {key!r}", (*path, key), fix=did_you_mean(key, _KEYS))
        kind = data.get("type")
        if kind not in _TYPES:
            what = "there is no type" if kind is None else f"unknown type {quoted(kind)}"
            self.note(f"{_name(path)}: {what}", (*path, "type"), expected=" or ".join(_TYPES))
        elif kind == "categorical":
            self.check_choices(data, path)
        else:
            self.check_range(data, path, kind)
        if len(self.mistakes) > before:
            return None
        return Distribution(
            setting=_name(path),
            kind=str(kind),
            low=_as(kind, data.get("low")),
            high=_as(kind, data.get("high")),
            log=data.get("log", False),
            step=_as(kind, data.get("step")),
            choices=tuple(data.get("choices", ())),
            where=self.where(path),
        )

    def check_choices(self, data: Mapping[str, Any], path: KeyPath) -> None:
        for key in ("low", "high", "log", "step"):
            if key in data:
                self.note(f"a categorical setting has no {key}", (*path, key), fix="remove it")
        choices, place = data.get("choices"), (*path, "choices")
        if not isinstance(choices, list) or not choices:
            self.note(f"{_name(path)}: there are no choices", place, expected="a list of values")
            return
        texts = [repr(value) for value in choices]
        for at, text in enumerate(texts):
            if text in texts[:at]:
                self.note(f"the choice {choices[at]!r} is there twice", (*place, at))

    def check_range(self, data: Mapping[str, Any], path: KeyPath, kind: str) -> None:
        if "choices" in data:
            self.note(f"a setting of type {kind} has no choices", (*path, "choices"), fix="type: categorical")
        fits: Callable[[Any], bool] = _is_integer if kind == "int" else _is_number
        what = "a whole number" if kind == "int" else "a number"
        for key in ("low", "high", "step"):
            value = data.get(key)
            if not fits(value) and (key != "step" or value is not None):
                self.note(f"{_name(path)}: {key} is {quoted(value)}", (*path, key), expected=what)
        log: Any = data.get("log", False)
        step: Any = data.get("step")
        if not isinstance(log, bool):
            self.note(f"log is {quoted(log)}", (*path, "log"), expected="true or false")
        low: Any = data.get("low")
        high: Any = data.get("high")
        if not (fits(low) and fits(high)):
            return
        if low > high:
            self.note(f"{_name(path)}: low {low} is above high {high}", (*path, "low"), fix="swap them")
        if log is True and low <= 0:
            self.note(
                f"{_name(path)}: a logarithmic scale needs a low above 0", (*path, "low"), actual=str(low)
            )
        if fits(step) and step <= 0:
            self.note(f"{_name(path)}: step is {step}", (*path, "step"), expected="a number above 0")
        if step is not None and log is True:
            self.note(f"{_name(path)}: a logarithmic scale has no step", (*path, "step"), fix="remove one")


def _name(path: Sequence[str | int]) -> str:
    return dotted(tuple(map(str, path)))


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as(kind: Any, value: Any) -> float | None:
    return float(value) if kind == "float" and value is not None else value
