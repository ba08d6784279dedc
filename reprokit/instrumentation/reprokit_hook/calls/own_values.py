"""What is of this run alone (its clock, its process, names drawn by chance), told by kind of value.

Such a value counts as its kind, so that two runs agree on it. Nothing else is left out.

    >>> text_of("/tmp/tmpab12cd34/model.pt", started=0.0)
    '/tmp/tmp/model.pt'
"""

from __future__ import annotations

import os
import re
import time
from typing import Any

_UUID4 = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|"
    r"(?<![0-9a-f])[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}(?![0-9a-f])"
)
_ADDRESS = re.compile(r"0x[0-9a-f]{6,16}\b", re.IGNORECASE)
_TEMPORARY = re.compile(r"(/tmp/(?:[\w.-]+/)*tmp)[a-z0-9_]{8}")
_MOMENT = re.compile(r"20\d\d-?\d\d-?\d\d[T _-]?\d\d[:-]?\d\d[:-]?\d\d(?:[.,]\d+)?")
#: Longer texts are data, not names.
_LONGEST = 4_000
#: Seconds since the epoch in all units that are in use.
_UNITS = (1.0, 1e3, 1e6, 1e9)
_SLACK_S = 5.0
# as they were before they were wrapped
_time, _monotonic, _counter, _pid = time.time, time.monotonic, time.perf_counter, os.getpid


class Beginning:
    """When this process began, by all clocks."""

    def __init__(self) -> None:
        self.wall, self.monotonic, self.counter = _time(), _monotonic(), _counter()


def number_of(value: Any, began: Beginning, *, attribute: bool) -> str:
    """The kind of a number that is of this run alone; "" for any other.

    Args:
        value: An ``int`` or a ``float``.
        began: When the process began.
        attribute: Whether it is an attribute of an object: there, small numbers may be clocks and ids too.
    """
    if value > 1e9 and is_moment(value, began):
        return "clock"
    if not attribute:
        return ""
    if type(value) is int:
        return "process" if value == _pid() and value > 1 else ""
    if began.monotonic <= value <= _monotonic() or began.counter <= value <= _counter():
        return "clock"
    return ""


def is_moment(value: float, began: Beginning) -> bool:
    """Whether a number is a moment of this run, in seconds to nanoseconds since the epoch."""
    first, last = began.wall - _SLACK_S, _time() + _SLACK_S
    return any(first * unit <= value <= last * unit for unit in _UNITS)


def text_of(text: str, *, started: float) -> str:
    """A text with the kind in place of what is of this run alone.

    Args:
        text: Any text.
        started: When the process began, seconds since the epoch.
    """
    if not 14 <= len(text) <= _LONGEST:
        return text
    if "0x" in text:
        text = _ADDRESS.sub("0x", text)
    if "/tmp" in text:  # noqa: S108 - nothing is written
        text = _TEMPORARY.sub(r"\1", text)
    if len(text) >= 32 and "4" in text:
        text = _UUID4.sub("uuid", text)
    if "20" in text:
        text = _MOMENT.sub(lambda found: _moment(found.group(), started), text)
    return text


def _moment(text: str, started: float) -> str:
    """``moment`` for a date and time of this run; the text itself for any other."""
    digits = re.sub(r"\D", "", text)[:14]
    for to_fields in (time.localtime, time.gmtime):
        first, last = (
            time.strftime("%Y%m%d%H%M%S", to_fields(at)) for at in (started - _SLACK_S, _time() + _SLACK_S)
        )
        if first <= digits <= last:
            return "moment"
    return text
