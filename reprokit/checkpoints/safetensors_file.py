"""Checkpoints as safetensors files, read and written by the format's own library.

Values that are not tensors are kept in the header's ``__metadata__``: ``reprokit`` is a JSON tree of them,
and ``reprokit.content`` the digest of the whole content. A file that another program wrote has neither: it is
read as a dict of its tensors, and nothing shows whether they were changed.

The library accepts headers that this module refuses: a name that stands twice (the last one wins), unknown
keys, more dimensions than numpy has. So the header is checked here before the library sees the file.

Source: https://huggingface.co/docs/safetensors (the format).
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import numpy as np
from annotated_types import Len
from pydantic import BaseModel, ConfigDict, NonNegativeInt, TypeAdapter, ValidationError
from safetensors import SafetensorError, TensorSpec, deserialize, serialize

from reprokit import workspace
from reprokit.checkpoints.tensor_diff import content_digest
from reprokit.checkpoints.tensor_tree import pack, unpack
from reprokit.checkpoints.tensors import DTYPES, Tensor
from reprokit.errors import CheckpointError
from reprokit.records.strict import without_repeats

SUFFIX = ".safetensors"

_VALUES, _CONTENT, _METADATA = "reprokit", "reprokit.content", "__metadata__"
_MAX_HEADER_BYTES = 100_000_000  # the format's own limit
_DTYPES = {
    TensorSpec(dtype=name, shape=(0,), data_ptr=0, data_len=0).dtype: dtype  # such as "BF16" for bfloat16
    for name, dtype in DTYPES.items()
    if name != "complex128"  # the format has no such type
}


class _Entry(BaseModel):
    """A tensor as the header describes it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    dtype: str
    shape: Annotated[list[NonNegativeInt], Len(max_length=32)]
    data_offsets: Annotated[list[NonNegativeInt], Len(2, 2)]


_TENSORS = TypeAdapter(dict[str, _Entry])
_TEXTS = TypeAdapter(dict[str, dict[str, str]], config=ConfigDict(strict=True))


def write(state: Any, path: Path) -> None:
    """Write a checkpoint as ``read`` gives it, whole or not at all; equal contents give equal bytes.

    Raises:
        CheckpointError: It holds a type that the format lacks, or too much that is not in a tensor.
        WorkspaceError: The disk is full, or the folder cannot be written.
    """
    tree, tensors = pack(state)
    values = json.dumps(tree, separators=(",", ":"))
    metadata = {"format": "pt", _VALUES: values, _CONTENT: content_digest(state)}
    arrays = {name: np.ascontiguousarray(tensor.values) for name, tensor in tensors.items()}
    try:
        specs = {
            name: TensorSpec(
                dtype=tensors[name].dtype,
                shape=tensors[name].shape,
                data_ptr=array.ctypes.data,
                data_len=array.nbytes,
            )
            for name, array in arrays.items()
        }
        content = serialize(specs, metadata)
    except SafetensorError as error:
        what = f"a safetensors file cannot hold it: {str(error)[:120]}"
        raise CheckpointError(what, fix="keep it as a .pt file") from error
    workspace.write_atomic(path, _with_sorted_metadata(content))


def read(path: Path) -> dict[Any, Any]:
    """Read a checkpoint, or any safetensors file as a dict of its tensors.

    Raises:
        CheckpointError: It is corrupt, was changed, or is not a safetensors file.
        OSError: It cannot be read.
    """
    with path.open("rb") as stream:
        entries, metadata = _header(stream)
        stream.seek(0)
        try:
            found = dict(deserialize(stream.read()))  # type: ignore[no-untyped-call]
        except SafetensorError as error:
            raise CheckpointError(f"the safetensors library refuses it: {str(error)[:120]}") from error
    tensors = {name: _tensor(**found[name]) for name in entries}  # the library has no order of its own
    if _VALUES not in metadata:
        return dict(tensors)
    try:
        tree = json.loads(metadata[_VALUES])
    except (ValueError, RecursionError) as error:
        raise CheckpointError("its tree of values is corrupt") from error
    state = unpack(tree, tensors)
    if not isinstance(state, dict):
        raise CheckpointError("it does not hold a dict", actual=type(state).__name__)
    digest = content_digest(state)
    if metadata.get(_CONTENT) != digest:
        expected = metadata.get(_CONTENT, "the digest of its content")[:80]
        raise CheckpointError("it was changed after it was written", expected=expected, actual=digest)
    return state


def metadata_of(path: Path) -> dict[str, str]:
    """The texts next to the tensors; a ``CheckpointError`` where the header is corrupt."""
    with path.open("rb") as stream:
        return _header(stream)[1]


def is_sealed(path: Path) -> bool:
    """Whether a file holds the digest of its content, so that ``read`` finds every change.

    Raises:
        CheckpointError: Its header is corrupt.
        OSError: It cannot be read.
    """
    with path.open("rb") as stream:
        return _CONTENT in _header(stream)[1]


def _with_sorted_metadata(content: bytes) -> bytes:
    """The library writes metadata in the random order of a hash map; equal contents give equal bytes."""
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header[_METADATA] = dict(sorted(header[_METADATA].items()))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, memoryview(content)[8 + length :]])


def _header(stream: BinaryIO) -> tuple[dict[str, _Entry], dict[str, str]]:
    """The tensors that a file says it has, in its order, and its metadata, both checked."""
    size_bytes, length = os.fstat(stream.fileno()).st_size, stream.read(8)
    if len(length) < 8:
        raise CheckpointError("the file ends before its header begins")
    (num_bytes,) = struct.unpack("<Q", length)
    if num_bytes > min(_MAX_HEADER_BYTES, size_bytes - 8):
        raise CheckpointError(f"it claims a header of {num_bytes:,} bytes in a file of {size_bytes:,}")
    try:
        header = json.loads(stream.read(num_bytes).decode(), object_pairs_hook=without_repeats)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"its header is not valid JSON: {str(error)[:80]}") from error
    if not isinstance(header, dict):
        raise CheckpointError("its header is not a JSON object")
    try:
        metadata = _TEXTS.validate_python({_METADATA: header.pop(_METADATA, {})})[_METADATA]
        entries = _TENSORS.validate_python(header)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise CheckpointError(f"its header is wrong at {where[:80]!r}: {first['msg']}") from error
    _check_layout(entries, num_bytes=size_bytes - 8 - num_bytes)
    return entries, metadata


def _check_layout(entries: Mapping[str, _Entry], *, num_bytes: int) -> None:
    """Every byte after the header belongs to exactly one tensor."""
    end = 0
    for name, entry in sorted(entries.items(), key=lambda one: one[1].data_offsets):
        where, (begin, stop) = f"tensor {name[:80]!r}", entry.data_offsets
        if entry.dtype not in _DTYPES:
            raise CheckpointError(f"{where} has an unknown type", actual=repr(entry.dtype)[:40])
        size_bytes = math.prod(entry.shape) * np.dtype(_DTYPES[entry.dtype].numpy).itemsize
        if stop - begin != size_bytes:
            what = f"the size of {where} does not match its shape"
            raise CheckpointError(what, expected=f"{size_bytes:,} bytes", actual=f"{stop - begin:,}")
        if begin != end:
            what = f"{where} {'overlaps' if begin < end else 'leaves a gap after'} the tensor before it"
            raise CheckpointError(what, expected=f"byte {end:,}", actual=f"{begin:,}")
        end = stop
    if end != num_bytes:
        what = "its tensors do not end where the file ends"
        raise CheckpointError(what, expected=f"{end:,} bytes", actual=f"{num_bytes:,}")


def _tensor(*, dtype: str, shape: list[int], data: bytearray) -> Tensor:
    kind = _DTYPES[dtype]
    try:
        values = np.frombuffer(data, dtype=kind.numpy).reshape(shape)
    except ValueError as error:  # empty, and yet with sizes too large for numpy
        raise CheckpointError("a tensor has an impossible shape", actual=f"{shape!r:.60}") from error
    return Tensor(dtype=kind.name, shape=tuple(shape), values=values)
