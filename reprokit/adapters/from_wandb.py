"""Logs of Weights & Biases (``run-….wandb``, offline too): what was given to ``wandb.log``, and the summary.

The file is read here, without the package ``wandb``: its frame is a log of blocks with a checksum on every
piece, its records are protobuf messages, and of those only the history, the summary and the end of the run
matter. Times (``_timestamp``, ``_runtime``), the system's load and the configuration are left out. The
package itself has no reader in Python any more (0.31), and is a server's client; this one only reads.

    >>> next(read(Path("wandb/offline-run-20261122_123456-ab12cd34/run-ab12cd34.wandb"))).record
    {'_step': 0, 'loss': 0.5}
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from reprokit.adapters.jsonl.jsonl_line import read_line
from reprokit.adapters.reading import Note, Reading, open_file
from reprokit.adapters.steps_merged import MAX_METRICS
from reprokit.adapters.wire.protobuf_wire import BYTES, FIXED64, VARINT, Field, fields, signed

NAME = "wandb"
ORDER = 50
WHOLE_FOLDER = False
PATTERNS = ("run-*.wandb", "*.wandb")

MAX_RECORD_BYTES = 64 << 20

_IDENT, _VERSIONS = b":W&B\xe1\xbe", frozenset({0, 1})
#: Source: LevelDB's doc/log_format.md, with W&B's own start of the file and the CRC-32 of zlib.
_BLOCK_BYTES, _PIECE_HEADER = 32_768, struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
#: Numbers of fields: of a record, a history, a summary, an item of either. Source: wandb_internal.proto.
_HISTORY, _SUMMARY, _EXIT = 2, 3, 18
_ITEM, _HISTORY_STEP, _STEP_NUMBER = 1, 2, 1
_UPDATE, _REMOVE = 1, 2
_KEY, _NESTED_KEY, _VALUE_JSON = 1, 2, 16
_NONE, _BOOLEAN, _INTEGER, _DOUBLE, _TEXT, _JSON = 3, 4, 5, 6, 7, 8  # in place of value_json
_NOT_COMPLETE = 3  # of the end of a run
_STEP = "_step"
_NOT_METRICS = frozenset({"_timestamp", "_runtime", "_wandb"})


class _DamagedError(ValueError):
    """A record that cannot be read; the note says how."""

    def __init__(self, kind: str, detail: str) -> None:
        self.note: Note = kind, detail[:120]
        super().__init__(detail)


def reads(_path: Path) -> bool:
    """Whatever has such a name is read."""
    return True


def read(path: Path) -> Iterator[Reading]:
    """The history, and a last record with what only the summary holds.

    Raises:
        MetricsError: The path cannot be opened.
    """
    with os.fdopen(open_file(path), "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            yield Reading(line=None, record=None, notes=(("empty_file", ""),))
            return
        log = _Log()
        try:
            for data in _records(file):
                log.num_records += 1
                for record in log.take(data):
                    yield Reading(line=log.num_records, record=record)
            for record in log.last():
                yield Reading(line=log.num_records, record=record)
        except _DamagedError as error:
            yield Reading(line=log.num_records + 1, record=None, notes=(error.note,))
        except ValueError as error:
            yield Reading(line=log.num_records, record=None, notes=(("corrupt_event", str(error)[:80]),))


@dataclass(slots=True)
class _Log:
    """What was seen of a log so far."""

    num_records: int = 0
    last_step: int = 0
    has_ended: bool = False
    history: set[str] = field(default_factory=set)
    summary: dict[str, Any] = field(default_factory=dict)

    def take(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The metrics of one record, if it holds any."""
        for number, value in _messages(data):
            if number == _HISTORY:
                record = _history(value)
                self.last_step = record.get(_STEP, self.last_step)
                self.history |= record.keys()
                self._must_be_few()
                if record.keys() - {_STEP}:
                    yield record
            elif number == _SUMMARY:
                _update(self.summary, value)
                self._must_be_few()
            elif number == _EXIT:
                self.has_ended = not any(at == _NOT_COMPLETE and value for at, _, value in fields(value))

    def _must_be_few(self) -> None:
        if max(len(self.history), len(self.summary)) > MAX_METRICS:
            raise _DamagedError("too_many_metrics", "")

    def last(self) -> Iterator[dict[str, Any]]:
        """What the summary alone holds; a ``_DamagedError`` where the run has no end."""
        if not self.has_ended:
            detail = "the program was killed, or did not call wandb.finish()"
            raise _DamagedError("not_closed", detail)
        found = {name: self.summary[name] for name in sorted(self.summary) if name not in self.history}
        if found:
            yield {_STEP: self.last_step, **found}


def _records(file: BinaryIO) -> Iterator[bytes]:
    """The records, put together from their pieces.

    Raises:
        _DamagedError: A piece is damaged, cut off, or does not follow the one before it.
    """
    header = file.read(len(_IDENT) + 1)
    if header[:-1] != _IDENT or header[-1] not in _VERSIONS:
        raise _DamagedError("corrupt_event", "the file does not begin as a W&B log of a known version does")
    whole: bytearray | None = None
    for kind, data in _pieces(file):
        if (kind in {_FULL, _FIRST}) != (whole is None):
            raise _DamagedError("corrupt_event", "a piece of a record is missing")
        whole = bytearray() if whole is None else whole
        whole += data
        if len(whole) > MAX_RECORD_BYTES:
            raise _DamagedError("line_too_long", f"a record of more than {MAX_RECORD_BYTES >> 20} MiB")
        if kind in {_FULL, _LAST}:
            yield bytes(whole)
            whole = None
    if whole is not None:
        raise _DamagedError("torn_line", "the last record is cut off")


def _pieces(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The pieces of the blocks, in order: type and data."""
    while True:
        left = _BLOCK_BYTES - file.tell() % _BLOCK_BYTES
        if left < _PIECE_HEADER.size:
            if file.read(left).strip(b"\0"):
                raise _DamagedError("corrupt_event", "the end of a block is not empty")
            continue
        header = file.read(_PIECE_HEADER.size)
        if not header:
            return
        if len(header) < _PIECE_HEADER.size:
            raise _DamagedError("torn_line", "the last record is cut off")
        checksum, length, kind = _PIECE_HEADER.unpack(header)
        if not _FULL <= kind <= _LAST or length > left - _PIECE_HEADER.size:
            raise _DamagedError("corrupt_event", "a piece's header is damaged; nothing after it was read")
        data = file.read(length)
        if len(data) < length:
            raise _DamagedError("torn_line", "the last record is cut off")
        if zlib.crc32(data, zlib.crc32(header[-1:])) != checksum:
            raise _DamagedError("corrupt_event", "a checksum is wrong; nothing after it was read")
        yield kind, data


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages in a message: number of the field and bytes."""
    return (
        (number, value) for number, wire, value in fields(data) if wire == BYTES and isinstance(value, bytes)
    )


def _history(data: bytes) -> dict[str, Any]:
    """The step and what was logged at it."""
    step: int | None = None
    found: dict[str, Any] = {}
    for number, value in _messages(data):
        if number == _HISTORY_STEP:
            numbers = [one for at, wire, one in fields(value) if at == _STEP_NUMBER and wire == VARINT]
            step = signed(int(numbers[-1])) if numbers else 0  # protobuf leaves out a 0
        elif number == _ITEM:
            name, held = _item(value)
            if name in found:
                raise _DamagedError("duplicate_key", f"'{name}'")
            found[name] = held
    counted = found.pop(_STEP, step)
    metrics = {name: found[name] for name in sorted(found) if name not in _NOT_METRICS}
    return metrics if counted is None else {_STEP: counted, **metrics}


def _update(summary: dict[str, Any], data: bytes) -> None:
    for number, value in _messages(data):
        if number == _UPDATE:
            name, held = _item(value)
            if name.partition(".")[0] not in _NOT_METRICS | {_STEP}:
                summary[name] = held
        elif number == _REMOVE:
            summary.pop(_name(list(fields(value))), None)


def _item(data: bytes) -> tuple[str, Any]:
    """Name and value of an item, which is JSON, or of a type of its own where there is no JSON."""
    every = list(fields(data))
    name = _name(every)
    texts = [value for number, _, value in every if number == _VALUE_JSON and isinstance(value, bytes)]
    if texts:
        return name, _json(texts[-1], name)
    typed = [_typed(*one, name) for one in every if _NONE <= one[0] <= _JSON]
    if len(typed) != 1:
        raise _DamagedError("corrupt_event", f"{name} has {len(typed)} values")
    return name, typed[0]


def _name(every: Iterable[Field]) -> str:
    """The name of an item; those of nested ones are joined with dots, as W&B shows them."""
    keys: dict[int, list[str]] = {_KEY: [], _NESTED_KEY: []}
    for number, _, value in every:
        if number in keys and isinstance(value, bytes):
            keys[number].append(value.decode("utf-8"))
    return ".".join(keys[_NESTED_KEY]) or "".join(keys[_KEY][-1:])


def _typed(number: int, wire: int, value: int | bytes, name: str) -> Any:
    if wire == VARINT and isinstance(value, int) and number in {_NONE, _BOOLEAN, _INTEGER}:
        zigzag = value >> 1 ^ -(value & 1)
        return {_NONE: None, _BOOLEAN: bool(value), _INTEGER: zigzag}[number]
    if wire == FIXED64 and isinstance(value, bytes) and number == _DOUBLE:
        return struct.unpack("<d", value)[0]
    if wire == BYTES and isinstance(value, bytes) and number in {_TEXT, _JSON}:
        return value.decode("utf-8") if number == _TEXT else _json(value, name)
    raise _DamagedError("corrupt_event", f"{name} has a value of a wrong type")


def _json(text: bytes, name: str) -> Any:
    """A value, read as strictly as a line of JSON Lines."""
    if text == b"-0":
        return -0.0  # how Go writes it
    reading = read_line(b'{"value":' + text + b"}", number=1)
    if reading.record is None or list(reading.record) != ["value"]:
        word, detail = reading.notes[-1] if reading.notes else ("invalid_json", "")
        raise _DamagedError(word, f"{name}: {detail}" if detail else name)
    return reading.record["value"]
