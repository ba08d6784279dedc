"""Values as text: numbers, units, nested records, alike in every format.

>>> value_text(0.1), value_text("0.1"), value_text(float("nan"))
('0.1', '"0.1"', 'NaN')
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.shorten import short_digests
from reprokit.reports.tables import bytes_text

Facts = tuple[tuple[Visible, Visible], ...]

_LABEL = re.compile(r"^(?:runs|phases)\.|(?P<unit>_s$)|[._]")
_MAX_DEPTH = 6
_MAX_INTEGER_BITS = 13_000
_MAX_MEASURE = 1e18
_LEAST_PERCENTAGE = 1e-5
_MOST_ULPS = 1 << 20  # about 2e-10 of a value


def value_text(value: Any) -> Visible:
    """A metric's value as it was written: strings in quotes, numbers in full precision."""
    if isinstance(value, str) and value not in {"NaN", "Infinity", "-Infinity"}:
        return one_line(json.dumps(value, ensure_ascii=False))
    return one_line(spelt(value))


def spelt(value: Any) -> str:
    """A value in one line, strings without quotes; not yet safe to show."""
    if value is None:
        return "(none)"
    number = json_number(value)
    if isinstance(number, str):
        return number
    try:
        return json.dumps(number, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return "(too deep or too long to show)"


def json_number(value: Any) -> Any:
    """A number as JSON can hold it, and anything else as it is.

    NaN and the infinities become ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, an integer of more
    digits than Python turns into decimals becomes a hexadecimal string.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return hex(value)
    return value


def error_text(value: Any) -> Visible:
    """The size of an error in three digits; empty for None."""
    if value is None:
        return Visible("")
    return one_line(f"{value:.3g}" if _is_measure(value) else spelt(value))


def relative_text(value: Any) -> Visible:
    """A relative error: as a percentage where that says more than a power of ten; empty for None.

    >>> relative_text(0.0583), relative_text(3.2e-12)
    ('5.83 %', '3.2e-12')
    """
    is_large = _is_measure(value) and abs(value) >= _LEAST_PERCENTAGE
    return one_line(f"{100 * value:,.3g} %") if is_large else error_text(value)


def ulps_text(value: Any) -> Visible:
    """Units in the last place, where two values differ by rounding; empty where they differ by more."""
    return one_line(f"{value:,}" if _is_measure(value) and value <= _MOST_ULPS else "")


def facts_of(record: Mapping[str, Any]) -> Facts:
    """Nested mappings and lists of mappings as one level of dotted label and value."""
    return tuple(
        (one_line(label), measured(label, value)) for label, value in _leaves(record, "", 0) if label
    )


def in_words(facts: Facts) -> Facts:
    """Labels that a person reads: ``runs.1.duration_s`` is ``run 1 duration``."""
    return tuple((Visible(_LABEL.sub(_word, label)), value) for label, value in facts)


def _word(match: re.Match[str]) -> str:
    return {"runs.": "run ", "phases.": "time spent on "}.get(match[0], "" if match["unit"] else " ")


def _leaves(value: Any, label: str, depth: int) -> Iterator[tuple[str, Any]]:
    inner: Sequence[tuple[str, Any]] = ()
    if isinstance(value, Mapping):
        inner = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        inner = [(str(number), item) for number, item in enumerate(value, start=1)]
    if not inner or depth >= _MAX_DEPTH:
        yield label, value
        return
    for key, item in inner:
        yield from _leaves(item, f"{label}.{key}" if label else key, depth + 1)


def measured(label: str, value: Any) -> Visible:
    """A value with the unit that its name ends in, and digests cut to what tells them apart."""
    if _is_measure(value):
        if label.endswith("_per_s"):
            return one_line(f"{value:,.0f} per second")
        if label.endswith("_s") or label.startswith("phases."):
            return one_line(f"{value:,.2f} s")
        if label.endswith("_bytes"):
            return one_line(bytes_text(value))
    return one_line(short_digests(spelt(value)))


def _is_measure(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < _MAX_MEASURE
