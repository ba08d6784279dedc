"""NumPy arrays within a pickle, rebuilt without importing anything; arrays of objects are refused.

Older programs saved NumPy's generator that way. torch refuses such files (``weights_only``) until they are
converted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from reprokit.checkpoints.tensors import DTYPES, Tensor
from reprokit.errors import CheckpointError

CALLED = {
    "numpy.core.multiarray _reconstruct": "array",
    "numpy._core.multiarray _reconstruct": "array",
    "numpy ndarray": "ndarray",
    "numpy dtype": "ndtype",
    "_codecs encode": "bytes",
}

_NAMES = {
    np.dtype(dtype.numpy): dtype.name
    for dtype in reversed(DTYPES.values())
    if dtype.name not in {"bfloat16", "bool"} and not dtype.name.startswith("float8")
} | {np.dtype(bool): "bool"}


@dataclass(frozen=True, slots=True, eq=False)
class Unfinished:
    """An array or a dtype whose contents come with the next BUILD instruction."""

    what: str
    name: str = ""


def begin(what: str, arguments: Any) -> Any:
    """The result of calling one of NumPy's names.

    Raises:
        CheckpointError: NumPy does not write such a call.
    """
    if what == "bytes" and len(arguments) == 2 and arguments[1] == "latin1":
        return str(arguments[0]).encode("latin1")
    if what == "ndtype" and isinstance(arguments[0], str):
        return Unfinished("dtype", arguments[0])
    if what == "array":
        return Unfinished("array")
    raise CheckpointError(f"it calls NumPy's {what} with unexpected arguments")


def finish(begun: Unfinished, state: Any) -> Any:
    """The array or dtype that an unfinished one becomes with its contents.

    Raises:
        CheckpointError: The contents do not fit, or are objects.
    """
    if begun.what == "dtype":
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else ""
        if order == ">":
            raise CheckpointError("its numbers are stored big-endian")
        return begun
    _version, shape, dtype, by_columns, data = state
    if not isinstance(dtype, Unfinished) or not isinstance(data, bytes):
        raise CheckpointError("it holds an array of objects")
    try:
        kind = np.dtype(dtype.name)
        name = _NAMES[kind]
    except (TypeError, KeyError) as error:
        raise CheckpointError("it holds an array of a type unknown to torch", actual=dtype.name) from error
    if len(data) != math.prod(shape) * kind.itemsize:
        raise CheckpointError("the size of an array does not match its shape")
    values = np.frombuffer(data, dtype=kind).reshape(shape, order="F" if by_columns else "C")
    return Tensor(dtype=name, shape=tuple(shape), values=values.view("u1") if name == "bool" else values)
