"""Checkpoints as safetensors: a header of JSON, then the bytes of every tensor, and nothing that could run.

This module knows that format (https://huggingface.co/docs/safetensors). It refuses a file whose tensors
overlap, leave holes, or are not all of it. What is no tensor stands in the header's ``__metadata__``:
``reprokit`` gives back every other value, and ``reprokit.content`` is the digest that all of it must have.

    >>> write(state, Path("checkpoint_20480.safetensors"))
    >>> content_digest(read(Path("checkpoint_20480.safetensors"))) == content_digest(state)
    True

A file that another program wrote has no such keys: it is read as a dict of its tensors, and nobody can say
whether they are unchanged.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from reprokit import workspace
from reprokit.checkpoints.comparing import content_digest
from reprokit.checkpoints.packing import pack, unpack
from reprokit.checkpoints.tensors import DTYPES, Tensor
from reprokit.errors import CheckpointError

SUFFIX = ".safetensors"

_VALUES, _CONTENT, _METADATA = "reprokit", "reprokit.content", "__metadata__"
_MAX_HEADER_BYTES = 100_000_000  # the format's own limit
_MAX_DIMENSIONS = 32
_NAMES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "complex64": "C64",
}
_DTYPES = {name: DTYPES[dtype] for dtype, name in _NAMES.items()}


def write(state: Any, path: Path) -> None:
    """Write a checkpoint, whole or not at all; equal contents give equal bytes.

    Args:
        state: As ``checkpoints.read`` gives it.
        path: Where to; an earlier file of that name is replaced.

    Raises:
        CheckpointError: It holds a type that the format lacks, or more beside its tensors than fits.
        WorkspaceError: The disk is full, or the folder cannot be written.
    """
    tree, tensors = pack(state)
    values = json.dumps(tree, separators=(",", ":"))
    header: dict[str, Any] = {
        _METADATA: {"format": "pt", _VALUES: values, _CONTENT: content_digest(state)},
    }
    blocks, at = [], 0
    for name in sorted(tensors, key=lambda one: -tensors[one].values.dtype.itemsize):  # keeps all aligned
        tensor = tensors[name]
        block = np.ascontiguousarray(tensor.values).tobytes()
        blocks.append(block)
        header[name] = {
            "dtype": _name_of(name, tensor),
            "shape": list(tensor.shape),
            "data_offsets": [at, at := at + len(block)],
        }
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > _MAX_HEADER_BYTES:
        what = f"it holds {len(text):,} bytes beside its tensors, more than the format's header may have"
        raise CheckpointError(what, fix="keep it as a .pt file")
    workspace.write_atomic(path, b"".join([struct.pack("<Q", len(text)), text, *blocks]))


def read(path: Path) -> dict[Any, Any]:
    """Read a checkpoint, or any safetensors file as a dict of its tensors.

    Raises:
        CheckpointError: It is not there, torn, tampered with, or no such file.
    """
    try:
        header, content = _opened(path)
        return _state(header, content)
    except CheckpointError as error:
        raise CheckpointError(
            f"the checkpoint is refused: {error.what}",
            where=str(path),
            expected=error.expected,
            actual=error.actual,
            fix=error.fix or "copy or convert it again from where it was written",
        ) from error


def is_sealed(path: Path) -> bool:
    """Whether a file holds the digest of its content, which ``read`` then holds it against.

    Raises:
        CheckpointError: It cannot be read.
    """
    return _CONTENT in _opened(path)[0].get(_METADATA, {})


def _opened(path: Path) -> tuple[dict[str, Any], bytes]:
    """The header, and the bytes of all tensors."""
    try:
        with path.open("rb") as stream:
            header = _header(stream, size_bytes=path.stat().st_size)
            return header, stream.read()
    except OSError as error:
        what = f"it cannot be read: {error.strerror or error}"
        raise CheckpointError(what, where=str(path)) from error


def _header(stream: BinaryIO, *, size_bytes: int) -> dict[str, Any]:
    length = stream.read(8)
    if len(length) < 8:
        raise CheckpointError("the file ends before its header begins")
    (num_bytes,) = struct.unpack("<Q", length)
    if num_bytes > _MAX_HEADER_BYTES or num_bytes > size_bytes - 8:
        raise CheckpointError(f"it claims a header of {num_bytes:,} bytes in a file of {size_bytes:,}")
    try:
        header = json.loads(stream.read(num_bytes), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"its header is no JSON: {str(error)[:80]}") from error
    if not isinstance(header, dict):
        raise CheckpointError("its header is no JSON object")
    metadata = header.get(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise CheckpointError("its metadata are not text")
    return header


def _state(header: Mapping[str, Any], content: bytes) -> dict[Any, Any]:
    entries = {name: _entry(name, entry) for name, entry in header.items() if name != _METADATA}
    _all_of_it(entries, len(content))
    tensors = {name: _tensor(entry, content) for name, entry in entries.items()}
    metadata = header.get(_METADATA, {})
    if _VALUES not in metadata:
        return dict(tensors)
    try:
        tree = json.loads(metadata[_VALUES])
    except (ValueError, RecursionError) as error:
        raise CheckpointError("its list of values is torn") from error
    state = unpack(tree, tensors)
    if not isinstance(state, dict):
        raise CheckpointError("it holds no dict", actual=type(state).__name__)
    found = content_digest(state)
    if metadata.get(_CONTENT) != found:
        expected = metadata.get(_CONTENT, "the digest of its content")[:80]
        raise CheckpointError("it was changed after it was written", expected=expected, actual=found)
    return state


def _entry(name: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    """Type, shape, and where its bytes begin and end."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"tensor {name[:80]!r} is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if dtype not in _DTYPES:
        raise CheckpointError(f"tensor {name[:80]!r} has an unknown type", actual=repr(dtype)[:40])
    sound = _counts(shape) and _counts(offsets) and len(offsets) == 2 and len(shape) <= _MAX_DIMENSIONS
    if not sound:
        raise CheckpointError(f"tensor {name[:80]!r} has no sound shape", actual=f"{shape!r:.60}")
    begin, end = offsets
    needed = math.prod(shape) * np.dtype(_DTYPES[dtype].numpy).itemsize
    if end - begin != needed:
        where = f"tensor {name[:80]!r}"
        raise CheckpointError(
            f"{where} has another size than its shape says",
            expected=f"{needed:,} bytes",
            actual=f"{end - begin:,}",
        )
    return dtype, tuple(shape), begin, end


def _all_of_it(entries: Mapping[str, tuple[str, tuple[int, ...], int, int]], num_bytes: int) -> None:
    """Every byte belongs to one tensor: none to two, none to nobody."""
    at = 0
    for name, (_, _, begin, end) in sorted(entries.items(), key=lambda one: one[1][2:]):
        if begin < at:
            raise CheckpointError(f"tensor {name[:80]!r} overlaps the one before it")
        if begin > at:
            raise CheckpointError(f"{begin - at:,} bytes before tensor {name[:80]!r} belong to nobody")
        at = end
    if at > num_bytes:
        raise CheckpointError(
            "the file ends before its last tensor", expected=f"{at:,} bytes", actual=f"{num_bytes:,}"
        )
    if at < num_bytes:
        raise CheckpointError(f"{num_bytes - at:,} bytes at its end belong to nobody")


def _tensor(entry: tuple[str, tuple[int, ...], int, int], content: bytes) -> Tensor:
    kind, shape, begin, end = entry
    dtype = _DTYPES[kind]
    try:
        values = np.frombuffer(content[begin:end], dtype=dtype.numpy).reshape(shape)
    except ValueError as error:  # of nothing at all, and yet too large for numpy
        raise CheckpointError("a tensor has no sound shape", actual=f"{shape!r:.60}") from error
    return Tensor(dtype=dtype.name, shape=shape, values=values)


def _name_of(name: str, tensor: Tensor) -> str:
    if tensor.dtype not in _NAMES:
        raise CheckpointError(
            f"safetensors has no type for {name}", actual=tensor.dtype, fix="keep it as a .pt file"
        )
    return _NAMES[tensor.dtype]


def _counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(one) is int and one >= 0 for one in values)


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found
