"""Two checkpoints compared value by value: which differ, in how many elements, by how many ULPs.

Contents are compared, not files: two files with different bytes and equal contents are equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from reprokit.checkpoints.flatten import leaves
from reprokit.checkpoints.tensors import Tensor
from reprokit.core import json_values

_FLOATS = {"float64": "u8", "float32": "u4", "float16": "u2", "bfloat16": "u2"}
_ABSENT = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointDifference:
    """One value that differs between two checkpoints."""

    name: str  # its path
    what: str  # `values`, `shape`, `type`, `missing` (in the second) or `extra` (in the second)
    expected: Any  # of the first checkpoint: the first element that differs, or the shape, type or value
    actual: Any  # of the second
    num_values: int = 1  # elements of the tensor; 1 where it is not a tensor
    num_different: int = 1  # how many differ
    # The most units in the last place between two floating-point elements; None where there is no such
    # distance (other types, NaN, infinities)
    max_ulps: int | None = None
    index: tuple[int, ...] | None = None  # of the first element that differs; None where it is not a tensor


def differences(expected: Any, actual: Any) -> Iterator[CheckpointDifference]:
    """Everything in two checkpoints, as ``read`` gives them, that is not bit for bit the same.

    Raises:
        CheckpointError: One is nested too deep, or contains itself.
    """
    theirs = dict(leaves(actual))
    for name, value in leaves(expected):
        other = theirs.pop(name, _ABSENT)
        if other is _ABSENT:
            yield CheckpointDifference(name=name, what="missing", expected=_summary(value), actual=None)
        elif (found := _difference(name, value, other)) is not None:
            yield found
    for name, value in theirs.items():
        yield CheckpointDifference(name=name, what="extra", expected=None, actual=_summary(value))


def content_digest(state: Any) -> str:
    """SHA-256 over names, types, shapes and bits, whatever the file format: ``sha256:<64 hex digits>``."""
    sha = hashlib.sha256()
    for name, value in leaves(state):
        if isinstance(value, Tensor):
            sha.update(f"{name}\0{value.dtype}\0{value.shape}\0".encode("utf-8", "surrogatepass"))
            sha.update(np.ascontiguousarray(value.values).data)
        else:
            sha.update(f"{name}\0{type(value).__name__}\0{value!r}\0".encode("utf-8", "surrogatepass"))
    return f"sha256:{sha.hexdigest()}"


def _difference(name: str, expected: Any, actual: Any) -> CheckpointDifference | None:
    if isinstance(expected, Tensor) and isinstance(actual, Tensor):
        return _of_tensors(name, expected, actual)
    if type(expected) is not type(actual):
        return CheckpointDifference(
            name=name, what="type", expected=_summary(expected), actual=_summary(actual)
        )
    if repr(expected) == repr(actual):
        return None
    distance = json_values.ulps(expected, actual)
    return CheckpointDifference(name=name, what="values", expected=expected, actual=actual, max_ulps=distance)


def _of_tensors(name: str, expected: Tensor, actual: Tensor) -> CheckpointDifference | None:
    if expected.dtype != actual.dtype:
        return CheckpointDifference(name=name, what="type", expected=expected.dtype, actual=actual.dtype)
    if expected.shape != actual.shape:
        return CheckpointDifference(
            name=name, what="shape", expected=list(expected.shape), actual=list(actual.shape)
        )
    ours, theirs = np.ascontiguousarray(expected.values), np.ascontiguousarray(actual.values)
    if ours.tobytes() == theirs.tobytes():
        return None
    width = ours.dtype.itemsize
    rows = (one.reshape(-1).view("u1").reshape(-1, width) for one in (ours, theirs))
    differ = np.flatnonzero((next(rows) != next(rows)).any(axis=1))
    first = int(differ[0])
    return CheckpointDifference(
        name=name,
        what="values",
        expected=ours.reshape(-1)[first].item(),
        actual=theirs.reshape(-1)[first].item(),
        num_values=ours.size,
        num_different=len(differ),
        max_ulps=_max_ulps(expected.dtype, ours.reshape(-1)[differ], theirs.reshape(-1)[differ]),
        index=tuple(int(one) for one in np.unravel_index(first, expected.shape)) if expected.shape else (),
    )


def _max_ulps(dtype: str, expected: np.ndarray, actual: np.ndarray) -> int | None:
    if dtype not in _FLOATS:
        return None
    if dtype != "bfloat16" and not (np.isfinite(expected).all() and np.isfinite(actual).all()):
        return None
    ours, theirs = (_ordinals(one, _FLOATS[dtype]) for one in (expected, actual))
    return int((np.maximum(ours, theirs) - np.minimum(ours, theirs)).max())


def _ordinals(floats: np.ndarray, bits: str) -> np.ndarray:
    """Integers in the order of the floats: neighbouring floats are 1 apart."""
    whole = floats.view(bits)
    sign = np.array(1 << (8 * whole.dtype.itemsize - 1), dtype=whole.dtype)
    ordinals: np.ndarray = np.where(whole & sign, sign - (whole & ~sign), whole | sign)
    return ordinals.astype(np.uint64)


def _summary(value: Any) -> Any:
    """A value as a difference shows it: of a tensor, only its type and shape."""
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else value
