"""Arrays and tensors of any library as bytes: by the buffer protocol, and by what NumPy makes of others.

Only types are asked; a method of a value is called where its type is a known library's, or where the type
itself names the protocol.
"""

from __future__ import annotations

import hashlib
import sys
import zlib
from typing import Any

from .. import digests

#: Longer buffers are summed up first, which takes as long as reading them.
_LONG, _COLUMNS = 1 << 15, 1021


def parts_of(value: Any, kind: type) -> tuple[list[bytes | memoryview], Any] | None:
    """What to digest of an array, and what else is to be walked of it; None where it is none.

    An array of objects is told by its shape, and its objects are to be walked.
    """
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    found = _of_numpy(value, kind, numpy) if hasattr(numpy, "ndarray") else None
    if found is None and torch is not None and hasattr(torch, "Tensor"):
        if issubclass(kind, torch.Tensor):
            return _of_tensor(value, torch)
        if kind in {torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format}:
            return [repr(value).encode()], None
    return found or _of_other(value, kind, numpy)


def _of_numpy(value: Any, kind: type, numpy: Any) -> tuple[list[Any], Any] | None:
    if issubclass(kind, numpy.ndarray):
        return _of_array(value, kind, numpy)
    if issubclass(kind, numpy.generic):
        name = value.dtype.str.encode()
        return ([name], value.item()) if value.dtype.hasobject else ([name, value.tobytes()], None)
    return ([str(value).encode()], None) if issubclass(kind, numpy.dtype) else None


def short(data: Any) -> bytes:
    """The bytes themselves, or what stands for them where there are many: sums over 1,021 columns of words.

    The number of columns is prime: rows and planes of arrays do not fall on the same ones, so that an
    exchange of two shows. One of the two sums is exclusive-or, the other one is modulo 2**64.
    """
    view = memoryview(data)
    view = view if view.ndim == 1 and view.format == "B" else view.cast("B")
    if view.nbytes <= _LONG:
        return bytes(view)
    numpy = sys.modules.get("numpy")
    if not hasattr(numpy, "bitwise_xor"):
        return b"%d,%d" % (zlib.crc32(view), view.nbytes)
    num_rows = view.nbytes // (8 * _COLUMNS)
    inside = num_rows * 8 * _COLUMNS
    table = numpy.frombuffer(view[:inside], numpy.uint64).reshape(num_rows, _COLUMNS)  # type: ignore[union-attr]
    sums = numpy.bitwise_xor.reduce(table, axis=0).tobytes() + table.sum(axis=0).tobytes()  # type: ignore[union-attr]
    return hashlib.blake2b(sums + bytes(view[inside:]), digest_size=16).digest() + b"%d" % view.nbytes


def _of_array(value: Any, kind: type, numpy: Any) -> tuple[list[Any], Any]:
    plain = numpy.ndarray.view(value, numpy.ndarray)
    head = f"{plain.dtype.str}{plain.shape}".encode()
    rest = value.mask if issubclass(kind, numpy.ma.MaskedArray) else None
    if plain.dtype.names is not None and not plain.dtype.hasobject:
        head += repr(plain.dtype.descr).encode()
    if plain.dtype.hasobject:
        return [head], plain.ravel().tolist()
    if plain.ndim > 1 and plain.flags.f_contiguous and not plain.flags.c_contiguous:
        head, plain = head + b"F", plain.T
    if not plain.size:
        return [head], rest
    compact = numpy.ascontiguousarray(plain)
    return [head, memoryview(compact.reshape(-1).view(numpy.uint8))], rest


def _of_tensor(value: Any, torch: Any) -> tuple[list[Any], Any]:
    """With its gradient, which decides what an optimizer's step does."""
    head = f"{value.dtype}{tuple(value.shape)}{value.device}".encode()
    if value.is_meta or not value.numel():
        return [head], None
    digests.at_work.append(True)
    try:
        with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
            plain = value.detach()
            plain = plain if plain.layout is torch.strided else plain.to_dense()
            plain = plain.resolve_conj().resolve_neg()
            if plain.device.type == "cpu":
                data: Any = memoryview(plain.contiguous().reshape(-1).view(torch.uint8).numpy())
            else:
                data = digests.of(plain).encode()
            gradient = value.grad if value.is_leaf else None
    finally:
        digests.at_work.pop()
    return [head, data], gradient


def _of_other(value: Any, kind: type, numpy: Any) -> tuple[list[Any], Any] | None:
    """Arrays of other libraries, by the protocol that their type names."""
    home = _library(kind)
    if home in {"jax", "jaxlib", "tensorflow", "mlx"} and kind.__name__ in _NAMES and numpy is not None:
        found = numpy.asarray(value)
        return _of_array(found, type(found), numpy)
    if numpy is not None and home == "pandas" and kind.__name__ in {"DataFrame", "Series"}:
        return [kind.__name__.encode()], _of_table(value, kind)
    if home == "polars" and kind.__name__ in {"DataFrame", "Series"}:
        state = value.__getstate__()  # Arrow's format; in older releases a table's is a list of its columns
        return ([kind.__name__.encode(), state], None) if isinstance(state, bytes) else ([b"table"], state)
    if kind is memoryview or home in {"array", "mmap"} or (home == "pyarrow" and kind.__name__ == "Buffer"):
        return [memoryview(value)], None
    return None


#: Classes that are arrays, as their libraries call them.
_NAMES = frozenset(["ArrayImpl", "EagerTensor", "ResourceVariable", "array"])


def _of_table(value: Any, kind: type) -> Any:
    """Names, types and columns of a table of pandas, without what it keeps ready for later calls."""
    if kind.__name__ == "Series":
        return [value.name, value.index.to_numpy(), str(value.dtype), value.to_numpy()]
    columns = [value.iloc[:, number].to_numpy() for number in range(value.shape[1])]
    return [list(value.columns), [str(one) for one in value.dtypes], value.index.to_numpy(), columns]


def _library(kind: type) -> str:
    module = getattr(kind, "__module__", "")
    return module.partition(".")[0] if isinstance(module, str) else ""
