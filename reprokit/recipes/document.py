r"""YAML 1.2, read strictly: plain data out, with the line of every key, or a RecipeError.

The events are ruamel.yaml's; values are made from them here, by the core schema
(https://yaml.org/spec/1.2.2/#103-core-schema): ``1e-3`` is a number, ``NO`` is text, and nothing
in a file can name a Python type. ruamel's own constructor reads ``1_000`` as a number, ``2001-01-01``
as a date, ``1e400`` as infinity, lets tags, ``<<`` and ``%YAML 1.1`` change what a file means, follows
an alias into itself, and stops at the first mistake.

    >>> read_text("a: 1e-3\\nb: NO\\n", where="recipe.yaml").data
    {'a': 0.001, 'b': 'NO'}
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from reprokit.errors import RecipeError
from reprokit.recipes.mistakes import combined
from reprokit.recipes.source_file import UNWANTED, named

KeyPath = tuple[str | int, ...]

_MAX_NODES = 10_000
_MAX_CHARACTERS = 1_000_000
_MAX_DEPTH = 24

_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_CONSTANTS: Mapping[str, bool | None] = {"null": None, "true": True, "false": False}
_WORDS: Mapping[str, bool | None] = {"": None, "~": None} | {
    spelling: value
    for word, value in _CONSTANTS.items()
    for spelling in (word, word.capitalize(), word.upper())
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A YAML document as plain data."""

    data: Any  # dict, list, str, int, float, bool and None only; every number finite
    lines: Mapping[KeyPath, int]  # where each key or list item begins: its path → line, counted from 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """A value with the line that names it, and how large it is with every alias spelled out."""

    value: Any
    line: int
    nodes: int = 1
    characters: int = 0
    height: int = 0


@dataclass(slots=True, kw_only=True)
class _Reader:
    """One pass over the events: what comes next, the anchors so far, the mistakes so far."""

    events: Iterator[Any]
    where: Callable[[int | None], str]
    anchors: dict[str, _Node] = field(default_factory=dict)
    mistakes: list[RecipeError] = field(default_factory=list)
    nodes: int = 0

    def mistake(self, what: str, line: int, *, fix: str | None = None) -> RecipeError:
        return RecipeError(what, where=self.where(line), fix=fix)

    def note(self, what: str, line: int, *, fix: str | None = None) -> None:
        self.mistakes.append(self.mistake(what, line, fix=fix))


def read_text(text: str, *, where: str, numbered: bool = True) -> Document:
    """Read one YAML document; errors name ``where`` it is from, and the line if ``numbered``.

    Raises:
        RecipeError: Not one document of plain data, or larger than any recipe needs to be. All
            mistakes are reported together where possible.
    """
    lines: dict[KeyPath, int] = {}
    try:
        root = _known_root(text)
    except RecipeError:
        _root(text, where, numbered)  # says where
        raise
    return Document(data=_data_of(root, (), lines), lines=lines)


@functools.lru_cache(maxsize=16)  # nothing but the text decides; whoever judges many runs reads few texts
def _known_root(text: str) -> _Node:
    return _root(text, "", numbered=True)


def _root(text: str, where: str, numbered: bool) -> _Node:
    def place(line: int | None) -> str:
        return f"{where}:{line}" if numbered and line else where

    if found := UNWANTED.search(text):
        raise RecipeError(
            f"{named(found[0])} in the text", where=place(text.count("\n", 0, found.start()) + 1)
        )
    reader = _Reader(events=_events(text, place), where=place)
    root = _document(reader)
    if reader.mistakes:
        raise combined(reader.mistakes, where=where)
    return root


def _events(text: str, where: Callable[[int | None], str]) -> Iterator[Any]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise RecipeError(f"not YAML: {problem}", where=where(mark.line + 1 if mark else None)) from error
    except (YAMLError, ValueError, OverflowError, IndexError, AssertionError) as error:
        raise RecipeError(f"not YAML: {error}", where=where(None)) from error


def _document(reader: _Reader) -> _Node:
    start = next(event for event in reader.events if isinstance(event, DocumentStartEvent | StreamEndEvent))
    if isinstance(start, StreamEndEvent):
        return _Node(value=None, line=1)
    if start.version not in {None, (1, 2)}:
        raise reader.mistake("recipes are YAML 1.2", start.start_mark.line + 1, fix="remove the %YAML line")
    root = _node(reader, next(reader.events), depth=0)
    for event in reader.events:
        if isinstance(event, DocumentStartEvent):
            line = event.start_mark.line + 1
            raise reader.mistake("a second document begins here", line, fix="one document a file")
    return root


def _node(reader: _Reader, event: Any, *, depth: int) -> _Node:
    line = event.start_mark.line + 1
    if depth > _MAX_DEPTH:
        raise reader.mistake(f"nested more than {_MAX_DEPTH} levels deep", line)
    if isinstance(event, AliasEvent):
        return _counted(reader, _alias(reader, event, line, depth))
    if event.tag is not None:
        reader.note(f"the tag {event.tag!r}", line, fix="recipes have no tags: remove it")
    if isinstance(event, ScalarEvent):
        node = _counted(reader, _Node(value=_scalar(reader, event), line=line, characters=len(event.value)))
    elif isinstance(event, SequenceStartEvent):
        node = _sequence(reader, line, depth)
    else:
        node = _mapping(reader, line, depth)
    if event.anchor is not None:
        reader.anchors[event.anchor] = node
    return node


def _alias(reader: _Reader, event: Any, line: int, depth: int) -> _Node:
    meant = reader.anchors.get(event.anchor)
    if meant is None:
        raise reader.mistake(f"*{event.anchor} has no anchor before it", line)
    if depth + meant.height > _MAX_DEPTH:
        raise reader.mistake(f"*{event.anchor} nests more than {_MAX_DEPTH} levels deep", line)
    return replace(meant, line=line)


def _counted(reader: _Reader, node: _Node) -> _Node:
    """Count a leaf or an alias, before anything of its size is made."""
    reader.nodes += node.nodes
    if reader.nodes > _MAX_NODES:
        raise reader.mistake(f"more than {_MAX_NODES} values, aliases spelled out", node.line)
    return node


def _sequence(reader: _Reader, line: int, depth: int) -> _Node:
    items = []
    while not isinstance(event := next(reader.events), SequenceEndEvent):
        items.append(_node(reader, event, depth=depth + 1))
    return _collection(reader, items, items, line)


def _mapping(reader: _Reader, line: int, depth: int) -> _Node:
    entries: dict[str, _Node] = {}
    key_lines: dict[str, int] = {}
    while not isinstance(event := next(reader.events), MappingEndEvent):
        key_line = event.start_mark.line + 1
        key = _key(reader, event, key_line, depth)
        value = _node(reader, next(reader.events), depth=depth + 1)
        if key in entries:
            reader.note(f"the key {key!r} is there twice, first in line {key_lines[key]}", key_line)
        elif key is not None:
            entries[key] = replace(value, line=key_line)
            key_lines[key] = key_line
    return _collection(reader, entries, list(entries.values()), line)


def _key(reader: _Reader, event: Any, line: int, depth: int) -> str | None:
    if not isinstance(event, ScalarEvent):
        if not isinstance(event, AliasEvent):
            _node(reader, event, depth=depth + 1)
        reader.note("a key must be plain text", line)
        return None
    if event.value == "<<" and event.style is None:
        reader.note("YAML 1.2 has no merge key '<<'", line, fix="write the keys out")
        return None
    key = _node(reader, event, depth=depth + 1).value
    if isinstance(key, str):
        return key
    reader.note(f"a key must be text, not {event.value or 'nothing'}", line, fix=f'write "{event.value}"')
    return None


def _collection(reader: _Reader, value: Any, children: list[_Node], line: int) -> _Node:
    node = _Node(
        value=value,
        line=line,
        nodes=1 + sum(child.nodes for child in children),
        characters=sum(child.characters for child in children),
        height=1 + max((child.height for child in children), default=0),
    )
    if node.characters > _MAX_CHARACTERS:
        raise reader.mistake(f"more than {_MAX_CHARACTERS} characters, aliases spelled out", line)
    reader.nodes += 1
    return node


def _scalar(reader: _Reader, event: Any) -> str | int | float | bool | None:
    text: str = event.value
    line = event.start_mark.line + 1
    if found := UNWANTED.search(text):
        reader.note(f"{named(found[0])} in a text", line, fix="remove it")
    if event.style is not None or event.tag is not None:
        return text
    if text.endswith(
        ":"
    ):  # `[a:]`: text to ruamel.yaml, a key without value to the specification and to others
        reader.note(f"a text that ends in a colon: {text[:40]!r}", line, fix="put it in quotes")
    if text in _WORDS:
        return _WORDS[text]
    if _NOT_FINITE.fullmatch(text):
        reader.note(f"{text} is not a finite number", line)
        return 0.0
    if _INTEGER.fullmatch(text):
        return _integer(reader, text, line)
    return _float(reader, text, line) if _FLOAT.fullmatch(text) else text


def _integer(reader: _Reader, text: str, line: int) -> int:
    value = 2**64 if len(text) > 40 else int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if not -(2**63) <= value < 2**63:
        reader.note("the integer does not fit into 64 bits", line)
    return value


def _float(reader: _Reader, text: str, line: int) -> float:
    value = float(text)
    digits = re.split("[eE]", text)[0]
    if math.isinf(value) or (value == 0.0 and digits.strip("-+0.")):
        reader.note(
            f"{text if len(text) <= 40 else text[:37] + '...'} does not fit into a 64-bit float", line
        )
        return 0.0
    return value


def _data_of(node: _Node, path: KeyPath, lines: dict[KeyPath, int]) -> Any:
    lines[path] = node.line
    if isinstance(node.value, dict):
        return {key: _data_of(child, (*path, key), lines) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [_data_of(child, (*path, index), lines) for index, child in enumerate(node.value)]
    return node.value
