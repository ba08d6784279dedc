"""A run as a file of TensorBoard's events, without its library: scalars in full precision, tags as texts.

Source: tensorflow's event.proto, summary.proto and tensor.proto;
https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from reprokit.adapters.from_tensorboard import masked_crc
from reprokit.features.trackers.tracked_run import TrackedRun, must_be_new
from reprokit.workspace import write_atomic

_VERSION = b"brain.Event:2"
_DT_DOUBLE, _DT_STRING = 2, 7
_SCALAR, _TENSOR = 1, 2  # summary.proto's DataClass


def to_tensorboard(run: TrackedRun, folder: Path) -> Path:
    """Write ``<folder>/<recipe>/<run>/events.out.tfevents…``, and return the file.

    Raises:
        UsageError: The run is there already.
        WorkspaceError: It cannot be written.
    """
    place = must_be_new(folder / run.recipe / run.name)
    file = place / f"events.out.tfevents.{int(run.began)}.reprokit"
    place.mkdir(parents=True)
    write_atomic(file, b"".join(map(_framed, _events(run))))
    return file


class LiveEvents:
    """``<place>/tensorboard/<recipe>/<run>/events.out.tfevents…``, to which records are appended."""

    def __init__(self, run: Path, place: Path) -> None:
        folder = must_be_new(place / "tensorboard" / run.parent.name / run.name)
        folder.mkdir(parents=True)
        began = time.time()
        self._file = folder / f"events.out.tfevents.{int(began)}.reprokit"
        self._append(_field(3, _VERSION), at=began)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """One record."""
        self._append(_scalars(step, values), at=time.time())

    def close(self, tags: Mapping[str, str]) -> None:
        """The tags as texts."""
        if tags:
            self._append(_texts(tags), at=time.time())

    def _append(self, what: bytes, *, at: float) -> None:
        with self._file.open("ab") as stream:
            stream.write(_framed(_field(1, struct.pack("<d", at), wire=1) + what))


def _events(run: TrackedRun) -> Iterator[bytes]:
    began = _field(1, struct.pack("<d", run.began), wire=1)
    yield began + _field(3, _VERSION)
    yield began + _texts(run.tags)
    for step, values in run.records():
        yield began + _scalars(step, values)


def _texts(tags: Mapping[str, str]) -> bytes:
    told = [_value(name, _text(text), plugin=b"text", kind=_TENSOR) for name, text in tags.items()]
    return _number(2, 0) + _field(5, b"".join(told))


def _scalars(step: int, values: Mapping[str, float]) -> bytes:
    held = [_value(name, _double(one), plugin=b"scalars", kind=_SCALAR) for name, one in values.items()]
    return _number(2, step) + _field(5, b"".join(held))


def _value(tag: str, tensor: bytes, *, plugin: bytes, kind: int) -> bytes:
    metadata = _field(1, _field(1, plugin)) + _number(4, kind)
    return _field(1, _field(1, tag.encode()) + _field(8, tensor) + _field(9, metadata))


def _double(value: float) -> bytes:
    return _number(1, _DT_DOUBLE) + _field(2, b"") + _field(4, struct.pack("<d", value))


def _text(text: str) -> bytes:
    return _number(1, _DT_STRING) + _field(2, b"") + _field(8, text.encode())


def _framed(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    return b"".join(
        (length, struct.pack("<I", masked_crc(length)), event, struct.pack("<I", masked_crc(event)))
    )


def _field(number: int, data: bytes, *, wire: int = 2) -> bytes:
    """A field of protobuf: of eight bytes (1), or of any number (2)."""
    return _varint(number << 3 | wire) + (_varint(len(data)) if wire == 2 else b"") + data


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value & (1 << 64) - 1)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))
