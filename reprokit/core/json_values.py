"""Two JSON values: equal or not, how far apart, and where inside they differ.

Values are what Python's ``json`` makes of JSON: None, bool, int of any size, float64 with NaN and infinities,
str, list, dict. Nothing here recurses, so nesting has no limit.

    >>> equal(1, 1.0), equal(0.0, -0.0), equal(True, 1), equal(2**53 + 1, float(2**53))
    (True, False, False, False)
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from fractions import Fraction
from itertools import zip_longest
from typing import Any


class Missing:
    """The type of MISSING."""

    __slots__ = ()


MISSING = Missing()
"""Stands for a value that is not there, which is not the same as null."""

Leaf = tuple[str, Any, Any]
"""Path below the value (``.key[3]``, empty for the value itself), expected, actual."""

_KINDS: dict[type, str] = {  # bool before int, which it is a subclass of
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    tuple: "array",
    dict: "object",
    Missing: "missing",
}
_EXACT_IN_FLOAT = 2**53
_LONG_BITS = 13_000
_MIN_INT64 = -(2**63)


def kind(value: Any) -> str:
    """The JSON name of a value's type, such as ``number``; a ``TypeError`` for what JSON does not have."""
    name = _KINDS.get(type(value))
    if name is None:
        name = next((word for parent, word in _KINDS.items() if isinstance(value, parent)), None)
    if name is None:
        raise TypeError(f"not a JSON value: {type(value).__name__}")
    return name


def leaves(expected: Any, actual: Any) -> Iterator[Leaf]:
    """The pairs of scalars inside two values, in order; where structures differ, the two parts.

    A pair is either two scalars, or two values, at least one of which is an array or object while
    the other is of another type. An element or key that one side lacks is paired with MISSING.
    """
    stack: list[Iterator[Leaf]] = [iter([("", expected, actual)])]
    while stack:
        leaf = next(stack[-1], None)
        if leaf is None:
            stack.pop()
            continue
        path, left, right = leaf
        kinds = kind(left), kind(right)
        if kinds == ("array", "array"):
            stack.append(_elements(path, left, right))
        elif kinds == ("object", "object"):
            stack.append(_members(path, left, right))
        else:
            yield leaf


def equal(expected: Any, actual: Any) -> bool:
    """Whether two values are equal by value, type and sign of zero (tolerance 0/0)."""
    return all(scalars_equal(left, right) for _, left, right in leaves(expected, actual))


def scalars_equal(expected: Any, actual: Any) -> bool:
    """As ``equal``, for values without anything inside.

    1 equals 1.0. NaN equals NaN. Integers are compared as integers, of any size. A bool, null or
    string never equals a number.
    """
    if kind(expected) != kind(actual):
        return False
    if is_nan(expected):
        return is_nan(actual)
    if expected != actual:
        return False
    return expected != 0 or isinstance(expected, str) or _negative_zero(expected) == _negative_zero(actual)


def within(expected: Any, actual: Any, *, rtol: float, atol: float) -> bool:
    """Whether two scalars agree: ``abs(actual - expected) <= atol + rtol * abs(expected)``.

    At 0/0 that is ``scalars_equal``. NaN agrees only with NaN, an infinity only with itself. Where
    float64 would overflow or round an integer, the formula is evaluated exactly.
    """
    if scalars_equal(expected, actual):
        return True
    if (rtol == 0 and atol == 0) or kind(expected) != "number" or kind(actual) != "number":
        return False
    if not (is_finite(expected) and is_finite(actual)):
        return False
    if _fits(expected) and _fits(actual):
        error = abs(float(actual) - float(expected))
        bound = atol + rtol * abs(float(expected))
        if math.isfinite(error) and math.isfinite(bound):
            return error <= bound
    exact = Fraction(atol) + Fraction(rtol) * abs(Fraction(expected))
    return abs(Fraction(actual) - Fraction(expected)) <= exact


def absolute_error(expected: Any, actual: Any) -> float | None:
    """``abs(actual - expected)`` as a float64; None where that is no number.

    It is None for anything but two numbers, and where one of them is NaN. It is infinite where
    one side is infinite, or where the error is beyond float64.
    """
    if kind(expected) != "number" or kind(actual) != "number" or is_nan(expected) or is_nan(actual):
        return None
    if expected == actual:
        return 0.0
    try:
        return float(abs(actual - expected))
    except OverflowError:
        return math.inf


def relative_error(expected: Any, actual: Any) -> float | None:
    """``abs(actual - expected) / abs(expected)``; None where expected is 0 or no finite number."""
    if kind(expected) != "number" or expected == 0 or not is_finite(expected):
        return None
    error = absolute_error(expected, actual)
    if error is None:
        return None
    if math.isfinite(error) and _fits(expected):
        return error / abs(float(expected))
    if not is_finite(actual):
        return math.inf
    try:
        return float(abs(Fraction(actual) - Fraction(expected)) / abs(Fraction(expected)))
    except OverflowError:
        return math.inf


def ulps(expected: Any, actual: Any) -> int | None:
    """Units in the last place: how many float64 lie between two values, counting one of them.

    None unless both are finite numbers, at least one is a float, and both are float64 exactly.
    """
    if kind(expected) != "number" or kind(actual) != "number":
        return None
    if not (isinstance(expected, float) or isinstance(actual, float)):
        return None
    if not (is_finite(expected) and is_finite(actual) and _fits(expected) and _fits(actual)):
        return None
    return abs(_ordinal(float(expected)) - _ordinal(float(actual)))


def is_finite(value: float) -> bool:
    """Whether a number is neither NaN nor infinite; an integer of any size is finite."""
    return isinstance(value, int) or math.isfinite(value)


def is_nan(value: Any) -> bool:
    """Whether a value is NaN, the one value that is not itself."""
    return bool(value != value)  # noqa: PLR0124


def describe(expected: Any, actual: Any) -> str:
    """One sentence that names the difference of two scalars or structures, without their values."""
    left, right = kind(expected), kind(actual)
    if "missing" in (left, right):
        return f"missing in {'actual' if right == 'missing' else 'expected'}"
    if left != right:
        return f"type: expected a {left}, actual a {right}"
    if left != "number":
        return f"the {left}s differ"
    for name, test in (("NaN", is_nan), ("infinite", _is_infinite)):
        if test(expected) != test(actual):
            return f"only {'expected' if test(expected) else 'actual'} is {name}"
    if expected == actual == 0:
        return "the sign of zero differs"
    return "the values differ"


def shown(value: Any, *, limit: int = 60) -> str:
    """A value in at most about ``limit`` characters, for a message; never fails on a long integer."""
    if isinstance(value, int) and value.bit_length() > _LONG_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, list | tuple | dict):
        return f"{'an object' if isinstance(value, dict) else 'an array'} of {len(value)}"
    text = repr(value[:limit] if isinstance(value, str) else value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def _elements(path: str, left: Any, right: Any) -> Iterator[Leaf]:
    for index, (one, other) in enumerate(zip_longest(left, right, fillvalue=MISSING)):
        yield f"{path}[{index}]", one, other


def _members(path: str, left: Any, right: Any) -> Iterator[Leaf]:
    for name in [*left, *(name for name in right if name not in left)]:
        yield f"{path}.{name}", left.get(name, MISSING), right.get(name, MISSING)


def _negative_zero(value: Any) -> bool:
    return isinstance(value, float) and value == 0 and math.copysign(1.0, value) < 0


def _fits(value: float) -> bool:
    return type(value) is float or -_EXACT_IN_FLOAT <= value <= _EXACT_IN_FLOAT


def _is_infinite(value: float) -> bool:
    return value in (math.inf, -math.inf)


def _ordinal(value: float) -> int:
    """Position on the line of all float64; both zeros are 0, neighbours differ by 1."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else _MIN_INT64 - bits
