"""TensorBoard event files: the scalars and texts, and digests of everything else that was logged.

All event files of one folder are one source, in the order they were begun; each event with summaries is one
record. A text is compared as it is; an image or a histogram becomes the SHA-256 of its bytes. The time at
which an event was written never repeats, so it is left out. The framing and its checksums are read here, so
that a file that is cut off or damaged is named instead of quietly ending early.

Where a resumed program says that a session starts at a step (`purge_step` of its writer), what was written
before that for this step or a later one is void, as TensorBoard has it, and is left out.

    >>> next(read(Path("runs/x/tensorboard"))).record
    {'step': 256, 'loss': 0.5}
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import struct
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from reprokit.adapters.reading import Note, Reading, open_file
from reprokit.adapters.wire.tensorboard_event import Scalar, parse

NAME = "tensorboard"
ORDER = 30
WHOLE_FOLDER = True
PATTERNS = ("*tfevents*",)

MAX_EVENT_BYTES = 64 << 20
_MOST_OF_RESTART = 1024  # it has a time, a step, and perhaps a message

_CASTAGNOLI = 0x82F63B78  # RFC 3720, appendix B.4: the polynomial of CRC-32C, bits reversed


def reads(_path: Path) -> bool:
    """Whatever has such a name is read."""
    return True


def read(path: Path) -> Iterator[Reading]:
    """The events of a file, or of all event files in a folder, that hold summaries.

    Raises:
        MetricsError: The path cannot be opened.
    """
    files = [path]
    if path.is_dir():
        files = sorted((file for file in path.iterdir() if fnmatch(file.name, PATTERNS[0])), key=_begun)
    restarts = [(place, *found) for place, file in enumerate(files) for found in _restarts(file)]
    for place, file in enumerate(files):
        for reading in _read_file(file):
            here = place, reading.line or 0
            after = [step for at, number, step in restarts if (at, number) > here]
            if reading.record is None or reading.record["step"] < min(after, default=math.inf):
                yield reading


def _restarts(path: Path) -> Iterator[tuple[int, int]]:
    """Number and step of each event that starts a session; their checksums are looked at when all is read."""
    with os.fdopen(open_file(path), "rb") as file:
        number = 0
        while len(header := file.read(12)) == 12:
            number += 1
            (length,) = struct.unpack("<Q", header[:8])
            if length > MAX_EVENT_BYTES:
                return
            if length > _MOST_OF_RESTART:
                file.seek(length + 4, os.SEEK_CUR)
                continue
            with contextlib.suppress(ValueError):
                event = parse(file.read(length + 4)[:length])
                if event.restart:
                    yield number, event.step


def _begun(path: Path) -> tuple[tuple[int, str], ...]:
    """Sort key: event files carry the second they were begun, then host, process and a counter."""
    return tuple((int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", path.name))


def _read_file(path: Path) -> Iterator[Reading]:
    with os.fdopen(open_file(path), "rb") as file:
        number = 0
        while header := file.read(12):
            number += 1
            data, note = _frame(header, file)
            if data is None:
                yield Reading(line=number, record=None, notes=(note,))
                return
            try:
                event = parse(data)
            except ValueError as error:
                yield Reading(line=number, record=None, notes=(("corrupt_event", str(error)[:80]),))
                continue
            if event.values is not None:
                yield _reading(event.step, event.values, number)


def _frame(header: bytes, file: Any) -> tuple[bytes | None, Note]:
    """One event's bytes, or the word for why there are none."""
    if len(header) < 12:
        return None, ("torn_line", "the last event is cut off")
    (length,) = struct.unpack("<Q", header[:8])
    if masked_crc(header[:8]) != struct.unpack("<I", header[8:])[0] or length > MAX_EVENT_BYTES:
        return None, ("corrupt_event", "the length of an event is damaged; nothing after it was read")
    data = file.read(length + 4)
    if len(data) < length + 4:
        return None, ("torn_line", "the last event is cut off")
    if masked_crc(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        return None, ("corrupt_event", "an event's checksum is wrong; nothing after it was read")
    return data[:-4], ("", "")


def _reading(step: int, values: Iterable[tuple[str, Scalar]], number: int) -> Reading:
    record: dict[str, Any] = {"step": step}
    for tag, value in values:
        if tag in record:
            return Reading(line=number, record=None, notes=(("duplicate_key", f"'{tag[:80]}'"),))
        record[tag] = _value(value)
    return Reading(line=number, record=record)


def _value(value: Scalar) -> float | int | str:
    """A number or a text as it is, anything else as the digest of its bytes."""
    return "sha256:" + hashlib.sha256(value).hexdigest() if isinstance(value, bytes) else value


def masked_crc(data: bytes) -> int:
    """CRC-32C, rotated and shifted, as TFRecord files store it.

    Source: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
    """
    table, crc = _crc_table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@cache
def _crc_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        crc = value
        for _ in range(8):
            crc = crc >> 1 ^ (_CASTAGNOLI if crc & 1 else 0)
        table.append(crc)
    return tuple(table)
