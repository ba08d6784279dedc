"""Whether a source holds a number, or anything at all: a log that was opened and never written to does not.

>>> holds_number([Reading(line=1, record={"step": 0, "note": "begun"})])
False
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reprokit.adapters.reading import Reading
from reprokit.core import json_values
from reprokit.core.comparing import steps

#: Notes of what is no record and no damage either.
_NOTHING = frozenset({"empty_file", "no_records", "blank_line", "blank_end"})


def holds_number(readings: Iterable[Reading]) -> bool:
    """Whether a record has a number next to its step; also where one is damaged, which hides what it held."""
    for reading in readings:
        record = reading.record
        if record is None:
            if not is_nothing(reading):
                return True
        elif any(in_value(value) for name, value in record.items() if name != steps.name_in(record)):
            return True
    return False


def holds_record(readings: Iterable[Reading]) -> bool:
    """Whether there is a record, or a damaged one."""
    return any(reading.record is not None or not is_nothing(reading) for reading in readings)


def is_nothing(reading: Reading) -> bool:
    """Whether there is no record, and no damage either."""
    return bool(reading.notes) and all(kind in _NOTHING for kind, _ in reading.notes)


def in_value(value: Any) -> bool:
    """Whether a value is a number, or holds one."""
    if isinstance(value, dict | list):
        return any(map(in_value, value.values() if isinstance(value, dict) else value))
    return json_values.kind(value) == "number"
