"""One line of JSON Lines: the record on it, or the word for what is wrong with it.

Two parsers work together. ``orjson`` is quick, but it reads integers beyond 64 bits as floats and keeps the
last of two equal keys, so its answer is taken only where neither can have happened. Python's own parser
decides everything else: it reads NaN and infinities as ``json`` writes them and shows every key. Literals
mean what they mean to Python: ``-0`` is the integer 0.

    >>> read_line(b'{"step": 1, "loss": 1e400}', number=1).notes
    (('number_overflow', '1e400'),)
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from reprokit.adapters.jsonl.quick_json import quick_loads
from reprokit.adapters.reading import Note, Reading

MAX_DEPTH = 64
MAX_INTEGER_DIGITS = 20_000
LONG_LINE_BYTES = 1_000_000

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SAFE_DIGITS = 640  # the least limit that Python can be told for turning decimals into integers
_LARGEST_QUICK = float(2**63)
_SCALARS = (str, int, float, bool, type(None))
# Possessive, and the closing quote optional: a string that never ends is passed over once, not
# once for every quote in it.
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])')


class _NamedError(ValueError):
    """JSON that Python would accept, or refuse with other words."""

    def __init__(self, kind: str, detail: str = "") -> None:
        self.note: Note = kind, detail
        super().__init__(kind)


def read_line(line: bytes, *, number: int, terminated: bool = True) -> Reading:
    """Read one line, without its line feed; only the last line of a file may not be ``terminated`` by one."""
    notes: list[Note] = []
    if len(line) > LONG_LINE_BYTES:
        notes.append(("long_line", ""))
    if line.endswith(b"\r"):
        notes.append(("carriage_return", ""))
        line = line[:-1]
    if line.startswith(_BYTE_ORDER_MARK):
        notes.append(("byte_order_mark", ""))
        line = line[len(_BYTE_ORDER_MARK) :]
    record = _quick(line)
    if record is None:
        try:
            record = _thorough(line, terminated=terminated)
        except _NamedError as error:
            return Reading(line=number, record=None, notes=(*notes, error.note))
    if not terminated:
        notes.append(("no_final_newline", ""))
    return Reading(line=number, record=record, notes=tuple(notes))


def read_record(line: bytes, *, number: int, terminated: bool = True) -> Reading:
    """As ``read_line``, with metrics in objects of their own called ``object/metric``."""
    reading = read_line(line, number=number, terminated=terminated)
    if reading.record is None or dict not in map(type, reading.record.values()):
        return reading
    return replace(reading, record=flattened(reading.record))


def flattened(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is in objects under names joined with ``/``; the record as it is where two would be one name."""
    flat: dict[str, Any] = {}
    waiting = list(reversed([*record.items()]))
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict) and value:
            waiting += [(f"{name}/{inner}", one) for inner, one in reversed(value.items())]
        elif name in flat:
            return record
        else:
            flat[name] = value
    return flat


def _quick(line: bytes) -> dict[str, Any] | None:
    """The record, if orjson's reading of it is sure to be right."""
    try:
        record = quick_loads(line)
    except ValueError:
        return None
    if type(record) is not dict or line.count(b":") != len(record):
        return None  # more colons than keys: a repeated key, something nested, or a colon in a text
    for value in record.values():
        if type(value) not in _SCALARS or (type(value) is float and abs(value) >= _LARGEST_QUICK):
            return None
    return record


def _thorough(line: bytes, *, terminated: bool) -> dict[str, Any]:
    if not line.strip(b" \t\r"):
        raise _NamedError("blank_line")
    if b"\0" in line:
        raise _NamedError("nul_byte", f"at byte {line.index(0) + 1}")
    if _depth(line) > MAX_DEPTH:
        raise _NamedError("too_deep")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        cut_off = not terminated and error.end >= len(line)
        raise _NamedError("torn_line" if cut_off else "invalid_utf8", f"at byte {error.start + 1}") from error
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        word = _word_for(text, error, terminated=terminated)
        raise _NamedError(word, f"at character {error.pos + 1}") from error
    if not isinstance(value, dict):
        raise _NamedError("not_an_object" if terminated else "torn_line")
    return value


def _word_for(text: str, error: json.JSONDecodeError, *, terminated: bool) -> str:
    whole = text.strip(" \t\r")
    begins, ends = whole.startswith("{"), whole.endswith("}")
    if begins and error.msg == "Extra data" and text[error.pos :].lstrip(" \t,").startswith("{"):
        return "two_values_on_a_line"
    if not terminated or begins != ends:
        return "torn_line"
    return "invalid_json"


def _depth(line: bytes) -> int:
    """How deep arrays and objects are nested; cheap where there are too few brackets for depth."""
    if line.count(b"{") + line.count(b"[") <= MAX_DEPTH:
        return 0
    depth = deepest = 0
    for match in _BRACKETS.finditer(line):
        depth += (match[1] is not None) - (match[2] is not None)
        deepest = max(deepest, depth)
    return deepest


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise _NamedError("duplicate_key", f"'{twice[:80]}'")
    return record


def _integer(text: str) -> int:
    if len(text) <= _SAFE_DIGITS:
        return int(text)
    if len(text) > MAX_INTEGER_DIGITS:
        raise _NamedError("integer_too_long", f"{len(text):,} digits")
    return int(Decimal(text))


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _NamedError("number_overflow", text[:40])
    return value


_constant: Callable[[str], float] = float  # NaN, Infinity and -Infinity, as Python spells them

_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
)
