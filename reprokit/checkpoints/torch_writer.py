"""Checkpoints written in the format of ``torch.save``, without torch.

They hold plain data and tensors only, and load with ``torch.load(weights_only=True)``.

Sources: torch.serialization (the archive), torch._utils (``_rebuild_tensor_v2`` and ``_v3``), pickletools.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reprokit import workspace
from reprokit.checkpoints.flatten import leaves
from reprokit.checkpoints.tensors import STORAGES, Tensor
from reprokit.errors import CheckpointError

SUFFIX = ".pt"

_STORAGE_OF = {dtype.name: storage for storage, dtype in STORAGES.items()}
_DATE = (1980, 1, 1, 0, 0, 0)  # zip's first date, always the same: equal contents give equal bytes


def write(state: Any, path: Path) -> None:
    """Write a checkpoint as ``read`` gives it, whole or not at all; equal contents give equal bytes.

    Raises:
        CheckpointError: It is nested too deep, or holds something that is not plain data.
        WorkspaceError: The disk is full, or the folder cannot be written.
    """
    for _ in leaves(state):  # refuses what is nested too deep, or contains itself
        pass
    writer = _Writer()
    contents = b"\x80\x02" + writer.pickled(state) + b"."
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
        entries = {"data.pkl": contents, "byteorder": b"little", "version": b"3\n"}
        entries |= {f"data/{key}": data for key, data in enumerate(writer.storages)}
        for name, data in entries.items():
            file.writestr(zipfile.ZipInfo(f"archive/{name}", _DATE), data)
    workspace.write_atomic(path, archive.getvalue())


class _Writer:
    """Pickles a value and collects the data of its tensors in ``storages``."""

    def __init__(self) -> None:
        self.storages: list[bytes] = []

    def pickled(self, value: Any) -> bytes:
        """The pickle instructions for a value."""
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, Mapping):
            items = b"".join(self.pickled(key) + self.pickled(item) for key, item in value.items())
            return b"}(" + items + b"u"
        if isinstance(value, list | tuple):
            items = b"".join(map(self.pickled, value))
            return b"](" + items + b"e" if isinstance(value, list) else b"(" + items + b"t"
        if type(value) not in _PLAIN:
            raise CheckpointError("it holds something that is not plain data", actual=type(value).__name__)
        return _PLAIN[type(value)](value)

    def _tensor(self, tensor: Tensor) -> bytes:
        values = np.ascontiguousarray(tensor.values)
        typed = _STORAGE_OF.get(tensor.dtype)
        count = values.size if typed else values.nbytes
        kind = f"ctorch\n{typed}\n" if typed else "ctorch.storage\nUntypedStorage\n"
        key, device = self.pickled(str(len(self.storages))), self.pickled("cpu")
        self.storages.append(values.tobytes())
        stored = b"(" + self.pickled("storage") + kind.encode() + key + device + self.pickled(count) + b"tQ"
        strides = tuple(math.prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape)))
        where = stored + self.pickled(0) + self.pickled(tensor.shape) + self.pickled(strides)
        arguments = where + b"\x89" + b"ccollections\nOrderedDict\n)R"
        if typed:
            return b"ctorch._utils\n_rebuild_tensor_v2\n(" + arguments + b"tR"
        dtype = f"ctorch\n{tensor.dtype}\n".encode()
        return b"ctorch._utils\n_rebuild_tensor_v3\n(" + arguments + dtype + b"tR"


def _integer(value: int) -> bytes:
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    num_bytes = value.bit_length() // 8 + 1
    if num_bytes > 255:
        raise CheckpointError("it holds an integer of more than 255 bytes")
    return b"\x8a" + bytes([num_bytes]) + value.to_bytes(num_bytes, "little", signed=True)


def _text(value: str) -> bytes:
    text = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(text)) + text


_PLAIN: Mapping[type, Callable[[Any], bytes]] = {
    type(None): lambda _none: b"N",
    bool: lambda yes: b"\x88" if yes else b"\x89",
    int: _integer,
    float: lambda number: b"G" + struct.pack(">d", number),
    str: _text,
}
