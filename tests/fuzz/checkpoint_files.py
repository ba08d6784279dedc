"""Checkpoints: torch's archives, the pickle inside them, safetensors files."""

from __future__ import annotations

import io
import json
import pickle
import struct
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from reprokit import checkpoints
from reprokit.checkpoints import Tensor

from .target import Target, mutated, mutated_json, same

_STATE = {"step": 5, "none": None, "yes": True, "big": 2**127 + 1, "x": -0.5, "t": (1, "ä"), "l": [[], {}]}


@cache
def _archives() -> tuple[dict[str, bytes], ...]:
    """Entries of archives that torch wrote: name → content."""
    import torch

    states = (
        {"model": torch.nn.Linear(2, 3).state_dict(), "step": 7, "lr": 0.5},
        {"turned": torch.arange(12.0).reshape(3, 4).T[1:, ::2], "empty": torch.empty(0, 3), **_STATE},
        {
            "half": torch.ones(3).bfloat16(),
            "parameter": torch.nn.Parameter(torch.ones(2, dtype=torch.float64)),
        },
    )
    found = []
    for state in states:
        buffer = io.BytesIO()
        torch.save(state, buffer)
        with zipfile.ZipFile(buffer) as archive:
            found.append({name: archive.read(name) for name in archive.namelist()})
    return (*found, {"archive/data.pkl": pickle.dumps(_STATE, protocol=2), "archive/version": b"3\n"})


def _zipped(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _official(path: Path) -> Any:
    """What torch reads, or None where it reads nothing."""
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.load(path, weights_only=True, map_location="cpu")
    except Exception:
        return None


def _leaves(state: Any) -> dict[str, Any]:
    """Path → plain value, or type, shape and bits of a tensor."""
    found = {}
    for name, value in checkpoints.leaves(state):
        if isinstance(value, Tensor):
            found[name] = (value.dtype, tuple(value.shape), np.ascontiguousarray(value.values).tobytes())
        else:
            plain = {} if isinstance(value, dict) else value  # an empty one, of whatever kind
            found[name] = _of_torch(value) if type(value).__module__.startswith("torch") else plain
    return found


def _of_torch(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Size):
        return tuple(value)
    raw = (
        value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
    )
    return str(value.dtype).removeprefix("torch."), tuple(value.shape), raw


def _check_archive(data: bytes, folder: Path) -> None:
    path = folder / "a.pt"
    path.write_bytes(data)
    state = checkpoints.read(path)
    ours = _leaves(state)
    checkpoints.content_digest(state)
    official = _official(path)
    if isinstance(official, dict):
        theirs = _leaves(official)
        assert same(sorted(map(repr, ours.items())), sorted(map(repr, theirs.items())))


@st.composite
def _pickles(draw: st.DrawFn) -> bytes:
    """An archive whose frame is right, and whose pickle or data are changed."""
    entries = dict(draw(st.sampled_from(_archives())))
    names = [name for name in entries if name.endswith("data.pkl") or "/data/" in name]
    name = draw(st.sampled_from(names))
    words = (
        b"ctorch\nSize\n",
        b"q\x01",
        b"h\x01",
        b"(",
        b"t",
        b"}",
        b"]",
        b"R",
        b"b",
        b"\x86",
        b"Q",
        b".",
        b"K\xff",
    )
    entries[name] = draw(mutated((entries[name],), words))
    return _zipped(entries)


@cache
def _safetensors() -> tuple[tuple[dict[str, Any], bytes], ...]:
    """Header and data of good files."""
    data = np.arange(6, dtype="<f4").tobytes()
    plain = {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
    two = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]},
        "b": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [16, 24]},
        "e": {"dtype": "U8", "shape": [0, 3], "data_offsets": [24, 24]},
    }
    return (plain, data), (two, data)


@st.composite
def _safetensors_files(draw: st.DrawFn) -> bytes:
    header, data = draw(st.sampled_from(_safetensors()))
    text = json.dumps(draw(mutated_json((header,)))).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 3)) == 0:
        text = draw(mutated((text,)))
    length = draw(st.sampled_from([len(text)] * 8 + [0, len(text) + 1, 2**63, 2**64 - 1]))
    return struct.pack("<Q", length) + text + draw(mutated((data,), most=1))


def _check_safetensors(data: bytes, folder: Path) -> None:
    path = folder / "a.safetensors"
    path.write_bytes(data)
    state = checkpoints.read(path)
    checkpoints.content_digest(state)
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    for name, tensor in state.items():
        begin, end = (8 + length + offset for offset in header[name]["data_offsets"])
        assert np.ascontiguousarray(tensor.values).tobytes() == data[begin:end]
        assert list(tensor.shape) == header[name]["shape"]


TARGETS = (
    Target(name="checkpoint-pickle", inputs=st.deferred(_pickles), check=_check_archive, slice_examples=40),
    Target(
        name="checkpoint-archive",
        inputs=st.deferred(lambda: mutated(tuple(map(_zipped, _archives())), (b"PK\x03\x04", b"PK\x01\x02"))),
        check=_check_archive,
        slice_examples=40,
    ),
    Target(name="safetensors", inputs=_safetensors_files(), check=_check_safetensors),
)
