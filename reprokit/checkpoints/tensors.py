"""Tensors as files hold them: torch's name of the type, a shape, and a NumPy view of the bytes.

Types that NumPy lacks, such as bfloat16, are kept as unsigned integers with the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from reprokit.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class DType:
    """A torch type and the NumPy type that holds its bits."""

    name: str  # torch's name
    numpy: str  # as `numpy.dtype` takes it; an unsigned integer for bfloat16 and float8


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor read from a file."""

    dtype: str  # torch's name of its type, such as `float32`
    shape: tuple[int, ...]  # its sizes
    values: np.ndarray  # its elements, [*shape], with the same bits; a view, made without copying


_TYPES = (
    DType("float32", "<f4"),
    DType("float64", "<f8"),
    DType("float16", "<f2"),
    DType("bfloat16", "<u2"),
    DType("int64", "<i8"),
    DType("int32", "<i4"),
    DType("int16", "<i2"),
    DType("int8", "i1"),
    DType("uint8", "u1"),
    DType("uint16", "<u2"),
    DType("uint32", "<u4"),
    DType("uint64", "<u8"),
    DType("bool", "u1"),
    DType("complex64", "<c8"),
    DType("complex128", "<c16"),
    DType("float8_e4m3fn", "u1"),
    DType("float8_e5m2", "u1"),
)
DTYPES = {type_.name: type_ for type_ in _TYPES}
STORAGES = {
    "FloatStorage": DTYPES["float32"],
    "DoubleStorage": DTYPES["float64"],
    "HalfStorage": DTYPES["float16"],
    "BFloat16Storage": DTYPES["bfloat16"],
    "LongStorage": DTYPES["int64"],
    "IntStorage": DTYPES["int32"],
    "ShortStorage": DTYPES["int16"],
    "CharStorage": DTYPES["int8"],
    "ByteStorage": DTYPES["uint8"],
    "BoolStorage": DTYPES["bool"],
    "ComplexFloatStorage": DTYPES["complex64"],
    "ComplexDoubleStorage": DTYPES["complex128"],
}


def view(
    content: bytes, dtype: DType, *, offset: int, shape: tuple[int, ...], stride: tuple[int, ...]
) -> Tensor:
    """A tensor within the bytes of a storage; ``offset`` and ``stride`` are counted in elements.

    Raises:
        CheckpointError: It reaches beyond the storage.
    """
    kind = np.dtype(dtype.numpy)
    there = len(content) // kind.itemsize
    sound = (
        len(shape) == len(stride)
        and len(shape) <= 32
        and all(isinstance(one, int) and one >= 0 for one in (*shape, *stride, offset))
    )
    if not sound:
        raise CheckpointError(
            "a tensor has an impossible shape", actual=f"{shape!r:.80}, strides {stride!r:.80}"
        )
    count = math.prod(shape)
    last = offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    if count and (count > there or last >= there):
        claimed = f"{count:,} elements, the last at {last:,}"
        raise CheckpointError("a tensor reaches beyond its data", expected=f"{there:,}", actual=claimed)
    if not count:
        return Tensor(dtype=dtype.name, shape=shape, values=np.empty(shape, dtype=kind))
    flat = np.frombuffer(content, dtype=kind, count=there)[offset:]
    steps = tuple(step * kind.itemsize for step in stride)
    values = np.lib.stride_tricks.as_strided(flat, shape=shape, strides=steps, writeable=False)
    return Tensor(dtype=dtype.name, shape=shape, values=values)
