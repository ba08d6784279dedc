"""Where two nested records differ, by dotted field: configurations, environment records, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from itertools import chain
from typing import Any, Final

from reprokit.core.records import is_leaf, leaves


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

    deepdiff compares, with everything off that would let a difference pass: its
    ``ignore_numeric_type_changes`` rounds to 12 digits, its ``math_epsilon`` calls 1e9 and 1e9 + 1
    equal, and by default it leaves out keys that begin with two underscores. It is for records of some
    hundred fields: what has a line a step (traces, metrics) is compared while it is read.
    """
    from deepdiff import DeepDiff  # noqa: PLC0415  (half a second, which few verbs need)

    found = DeepDiff(
        expected,
        actual,
        view="tree",
        ignore_private_variables=False,
        ignore_type_in_groups=[(list, tuple)],
        zip_ordered_iterables=True,
        threshold_to_diff_deeper=0,
        custom_operators=[_FloatsBySpelling()],
    )
    levels = chain.from_iterable(found.values())
    changed = {_field(level.path(output_format="list"), expected, actual) for level in levels}
    left, right = dict(leaves(expected)), dict(leaves(actual))
    return [
        (".".join(map(str, path)), left.get(path, ABSENT), right.get(path, ABSENT))
        for path in dict.fromkeys((*left, *right))
        if any(path[:length] in changed for length in range(len(path) + 1))
    ]


class _FloatsBySpelling:
    """Two floats are equal where they are spelled alike: NaN is NaN, and 0.0 is not -0.0."""

    def match(self, level: Any) -> bool:
        return isinstance(level.t1, float) and isinstance(level.t2, float)

    def give_up_diffing(self, level: Any, diff_instance: Any) -> bool:
        if repr(level.t1) != repr(level.t2):
            diff_instance.custom_report_result("values_changed", level)
        return True


def _field(path: list[str | int], expected: Any, actual: Any) -> tuple[str | int, ...]:
    """The part of a path that names a field: it ends where a list is a value."""
    for depth, name in enumerate(path):
        if any(isinstance(side, list | tuple) and is_leaf(side) for side in (expected, actual)):
            return tuple(path[:depth])
        if depth + 1 < len(path):
            expected, actual = expected[name], actual[name]
    return tuple(path)
