"""Calls of operations with their inputs, as plain data that loads without running code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

_PLAIN = {bool, int, float, str, type(None)}
_ARRAY_KINDS = "biuf"


class NotRecordableError(TypeError):
    """A value that cannot be given back as it was."""


def encode(value: Any) -> Any:
    """A copy of a value as lists, dicts, strings, numbers and tensors; else a ``NotRecordableError``."""
    if type(value) in _PLAIN:
        return value
    for kinds, kind, copy in _ENCODERS:
        if isinstance(value, kinds):
            return {kind: copy(value)}
    raise NotRecordableError(type(value).__name__)


def decode(plain: Any) -> Any:
    """What ``encode`` was given, in tensors and arrays of its own; a generator becomes None."""
    if not isinstance(plain, dict):
        return plain
    ((kind, value),) = plain.items()
    return _DECODERS[kind](value)


def signature(value: Any) -> Any:
    """What two calls share that a library would compute by the same kernel: types, shapes, strides.

    Numbers count by their type alone, for a step count is another in every call.
    """
    if isinstance(value, torch.Tensor):
        return "tensor", str(value.dtype), tuple(value.shape), tuple(value.stride()), str(value.device)
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, value.strides
    if isinstance(value, list | tuple):
        return tuple(signature(item) for item in value)
    if isinstance(value, Mapping):
        return tuple((str(name), signature(item)) for name, item in value.items())
    return type(value).__name__


def num_bytes(value: Any) -> int:
    """Bytes of all tensors and arrays in a value."""
    if isinstance(value, torch.Tensor | np.ndarray):
        return int(value.nbytes)
    if isinstance(value, Mapping):
        return sum(num_bytes(item) for item in value.values())
    return sum(num_bytes(item) for item in value) if isinstance(value, list | tuple) else 0


def leaves(value: Any) -> Iterator[torch.Tensor]:
    """Every number in a value as a tensor, in order."""
    if isinstance(value, torch.Tensor):
        yield value.detach().cpu()
    elif isinstance(value, np.ndarray | np.generic):
        yield _tensor_of(np.asarray(value))
    elif isinstance(value, bool | int | float):
        yield torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else torch.int64)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)


def save(path: Path, value: Any) -> None:
    """Write plain data with tensors in it."""
    with path.open("wb") as stream:
        torch.save(value, stream)


def load(path: Path) -> Any:
    """Read it back; refuses everything that is not plain."""
    return torch.load(path, weights_only=True)


def differing(expected: Sequence[torch.Tensor], actual: Sequence[torch.Tensor]) -> tuple[int, int]:
    """How many elements have other bits, and of how many; everything where the shapes differ."""
    total = sum(one.numel() for one in expected)
    if [(one.dtype, one.shape) for one in expected] != [(one.dtype, one.shape) for one in actual]:
        return total, total
    return sum(_unequal(one, other) for one, other in zip(expected, actual, strict=True)), total


def _unequal(one: torch.Tensor, other: torch.Tensor) -> int:
    rows = [item.contiguous().flatten().view(torch.uint8).reshape(item.numel(), -1) for item in (one, other)]
    return int((rows[0] != rows[1]).any(dim=1).sum()) if one.numel() else 0


def _tensor_of(array: np.ndarray[Any, Any]) -> torch.Tensor:
    if array.dtype.kind not in _ARRAY_KINDS or any(stride < 0 for stride in array.strides):
        raise NotRecordableError(f"an array of {array.dtype}")
    try:
        return torch.from_numpy(np.array(array, copy=True))
    except TypeError as error:
        raise NotRecordableError(f"an array of {array.dtype}") from error


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is not torch.strided or tensor.is_complex() or tensor.is_meta:
        raise NotRecordableError(f"a tensor of {tensor.dtype}, {tensor.layout}")
    return tensor.detach().clone()


_ENCODERS: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (torch.Tensor, "tensor", _dense),
    (np.ndarray, "array", _tensor_of),
    (np.generic, "scalar", lambda value: _tensor_of(np.asarray(value))),
    (
        (torch.dtype, torch.layout, torch.memory_format),
        "torch",
        lambda word: str(word).removeprefix("torch."),
    ),
    (torch.device, "device", str),
    (torch.Generator, "generator", lambda _value: None),
    (tuple, "tuple", lambda value: [encode(item) for item in value]),
    (list, "list", lambda value: [encode(item) for item in value]),
    (Mapping, "dict", lambda value: {str(name): encode(item) for name, item in value.items()}),
)

_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    "tensor": lambda value: value.clone(),
    "array": lambda value: value.clone().numpy(),
    "scalar": lambda value: value.numpy()[()],
    "torch": lambda value: getattr(torch, value),
    "device": torch.device,
    "generator": lambda _value: None,
    "tuple": lambda value: tuple(decode(item) for item in value),
    "list": lambda value: [decode(item) for item in value],
    "dict": lambda value: {name: decode(item) for name, item in value.items()},
}
