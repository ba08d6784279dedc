"""Where two nested records differ, by dotted field: configurations, environment records, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from reprokit.core.records import leaves


class _Absent(Enum):
    ABSENT = "absent"

    def __repr__(self) -> str:
        return self.value


#: What stands for a field that a record does not have; None is a value.
ABSENT: Final = _Absent.ABSENT


def differences(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Every field in which two records differ, by type and value: (dotted field, expected, actual).

    1 is not 1.0, True is not 1 and 0.0 is not -0.0; NaN is NaN, and a list is the tuple of its items.
    A list of plain values is one field; in other lists, a position is a part of the path. The order is
    that of ``expected``, then of ``actual``.

    It is for records of some hundred fields: what has a line a step (traces, metrics) is compared while
    it is read.
    """
    left, right = dict(leaves(expected)), dict(leaves(actual))
    found = []
    for path in dict.fromkeys((*left, *right)):
        one, other = left.get(path, ABSENT), right.get(path, ABSENT)
        if not _alike(one, other) and not _was_filled(path, one, other, expected=expected, actual=actual):
            found.append((".".join(map(str, path)), one, other))
    return found


def _alike(one: Any, other: Any) -> bool:
    """Whether two fields have one type and one value."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return not one and not other  # only an empty one is a field
    if isinstance(one, float) and isinstance(other, float):
        return repr(one) == repr(other)  # NaN is NaN, and 0.0 is not -0.0
    return type(one) is type(other) and bool(one == other)


def _was_filled(path: tuple[Any, ...], one: Any, other: Any, *, expected: Any, actual: Any) -> bool:
    """Whether an empty section is one with fields on the other side: the fields tell it."""
    empty, whole = (one, actual) if other is ABSENT else (other, expected)
    return isinstance(empty, Mapping) and isinstance(_at(whole, path), Mapping)


def _at(record: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        try:
            record = record[name]
        except (LookupError, TypeError):  # nothing there, or a value
            return ABSENT
    return record
