"""Logs of training programs: JSON Lines, tables, TensorBoard events, and what is printed."""

from __future__ import annotations

import csv
import json
import math
import re
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from hypothesis import strategies as st
from tensorboard.compat.proto import event_pb2

from reprokit import adapters
from reprokit.adapters import canonical_records, from_jsonl, from_tensorboard
from reprokit.adapters.jsonl.jsonl_walk import Pace
from reprokit.adapters.printed import printed_numbers
from reprokit.core import problems
from reprokit.core.json_values import equal
from reprokit.errors import MetricsError
from support.reference_comparison import Reference

from .target import Target, mutated, same

_LINES = (
    b'{"step": 0, "loss/policy": 0.5, "note": "a"}\n{"step": 256, "loss/policy": 0.25, "note": null}\n',
    b"".join(b'{"step": %d, "a": %d.5, "b": -%de-3}\n' % (at, at, at + 1) for at in range(40)),
    b'{"step": 1, "x": NaN, "y": [1, {"z": -Infinity}], "\\u00e9": true}\r\n{"step": 2}\n',
    b'{"step": 9007199254740993, "x": 1e-320, "y": -0}\n{"step": 9007199254740993.0, "x": 0.1}\n',
)
_WORDS = (
    b'{"step": 1, "x": 2}\n',
    b'"x": 1, ',
    b'"step": 1',
    b"\\ud800",
    b"[" * 70,
    b"1.0",
    b"true",
    b"null",
)


def _records(path: Path) -> list[tuple[int | None, Any]]:
    """Line and record of everything that an adapter read without an error."""
    found = []
    for reading in adapters.adapter_named(adapters.source_of(path).adapter).read(path):
        is_error = any(problems.KINDS[kind][0] == problems.ERROR for kind, _ in reading.notes)
        assert reading.record is not None or reading.notes
        if reading.record is not None and not is_error:
            found.append((reading.line, dict(reading.record)))
    return found


def _json_of(line: bytes) -> Any:
    text = line.removesuffix(b"\r").removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    return json.loads(text, parse_int=lambda digits: int(Decimal(digits)))  # of any length


def _check_jsonl(pair: tuple[bytes, bytes], folder: Path) -> None:
    left, right = folder / "a.jsonl", folder / "b.jsonl"
    left.write_bytes(pair[0])
    right.write_bytes(pair[1])
    for path, data in zip((left, right), pair, strict=True):
        lines = data.split(b"\n")
        for number, record in _records(path):
            assert same(record, Reference().flat(_json_of(lines[(number or 0) - 1]))), f"line {number}"
        adapters.summarise(path)
        adapters.read_series(path, max_points=10)
    for pace in (None, Pace(parse_all_bytes=0, block_bytes=64)):
        found = from_jsonl.compare(left, right, pace=pace)
        if found.identical and not any(one.severity == problems.ERROR for one in found.problems):
            ours, theirs = (
                [Reference().flat(_json_of(line)) for line in data.split(b"\n") if line.strip()]
                for data in pair
            )
            assert equal(ours, theirs), "called identical"


_TABLES = (
    b"step,loss,note\n0,0.5,a\n256,2.5e-1,\n",
    b'"step","a,b"\r\n1,"x ""y"""\r\n2,nan\r\n',
    b"# comment\nstep;loss\n1;2\n",
    b"step,a\n1, 7 \n2,-inf\n3,+.5\n4,1_0\n5,0x10\n",
)


def _check_csv(data: bytes, folder: Path) -> None:
    path = folder / "progress.csv"
    path.write_bytes(data)
    found = _records(path)
    rows: dict[int, list[str]] = {}
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as stream:
        head = next((line for line in stream if not line.startswith("#")), "")
        stream.seek(0)
        plain = csv.reader(stream, delimiter=next((one for one in ",;\t" if one in head), ","))
        for row in plain:
            rows[plain.line_num] = row
    for number, record in found:
        cells = rows[number or 0]
        for cell, value in zip(cells, record.values(), strict=True):
            if isinstance(value, int):
                assert Decimal(cell.strip()) == value
            elif isinstance(value, float):
                assert same(value, float(cell.strip()))
            else:
                assert value == cell or (value is None and not cell.strip(" \t"))
    adapters.summarise(path)
    adapters.compare(path, path)


def _event(step: int, **values: float) -> event_pb2.Event:
    made = event_pb2.Event(step=step, wall_time=1.5)
    for tag, value in values.items():
        made.summary.value.add(tag=tag, simple_value=value)
    return made


def _tensors() -> event_pb2.Event:
    made = event_pb2.Event(step=3)
    for at, (dtype, field, value) in enumerate(
        ((1, "float_val", 0.5), (9, "int64_val", 7), (8, "half_val", 9))
    ):
        tensor = made.summary.value.add(tag=f"t{at}").tensor
        tensor.dtype = dtype
        getattr(tensor, field).append(value)
    text = made.summary.value.add(tag="text").tensor
    text.dtype = 7
    text.string_val.append("é".encode())
    content = made.summary.value.add(tag="content").tensor
    content.dtype, content.tensor_content = 2, struct.pack("<d", 0.1)
    made.summary.value.add(tag="image").image.encoded_image_string = b"png"
    return made


_EVENTS = tuple(
    one.SerializeToString()
    for one in (_event(1, loss=0.5, kl=math.nan), _tensors(), event_pb2.Event(step=-1))
)


def _framed(data: bytes) -> bytes:
    header = struct.pack("<Q", len(data))
    crcs = (from_tensorboard.masked_crc(part) for part in (header, data))
    return b"".join(part + struct.pack("<I", crc) for part, crc in zip((header, data), crcs, strict=True))


def _check_events(given: tuple[list[bytes], bytes | None], folder: Path) -> None:
    events, raw = given
    path = folder / "events.out.tfevents.1.host.7.0"
    path.write_bytes(b"".join(map(_framed, events)) if raw is None else raw)
    found = list(from_tensorboard.read(path))
    adapters.summarise(path)
    if raw is not None:
        return
    for reading in found:
        if reading.record is None:
            continue
        official = event_pb2.Event()
        try:
            official.ParseFromString(events[(reading.line or 0) - 1])
        except DecodeError as error:
            raise AssertionError("protobuf refuses this event") from error
        assert reading.record["step"] == official.step
        assert list(reading.record)[1:] == [one.tag for one in official.summary.value]
        for one in official.summary.value:
            if one.WhichOneof("value") == "simple_value":
                assert same(reading.record[one.tag], one.simple_value)
            if (
                one.WhichOneof("value") == "tensor"
                and one.tensor.dtype == 1
                and len(one.tensor.float_val) == 1
            ):
                assert same(reading.record[one.tag], one.tensor.float_val[0]) or one.tensor.tensor_shape.dim


_PATTERNS = (
    r"step (?P<step>\d+) loss (?P<loss>\S+)",
    r"(?P<x>(a+)+)$",
    r"(?P<loss>.*)=(?P<y>.*)",
    r"(?P<x>[-+.\deE_,]+)",
    r"(?P<step>\d+).*.*.*.*(?P<x>nan|inf)$",
)
_PRINTED = (
    b"step 1 loss 0.5\nstep 2 loss nan\rstep 3 loss 1,024.5\n",
    b"a" * 200 + b"!",
    b"x=1e5\ny=-.5\n1_000 inf\n",
    b"1 " * 300,
)


def _check_printed(given: tuple[bytes, list[str], list[str]], folder: Path) -> None:
    data, patterns, volatile = given
    printed_numbers._SECONDS = 0.3  # what takes hours takes more than this
    log = folder / "stdout.log"
    log.write_bytes(data)
    try:
        made = canonical_records(
            folder / "output",
            logs=(log,),
            printed=patterns,
            volatile=[(one, "why") for one in volatile],
            places={},
        )
    except MetricsError as error:
        if "not searched to the end" in str(error):
            return
        raise
    words = {word for line in re.split(rb"[\r\n]+", data) for word in _numbers_in(line)}
    for line in made.records:
        for name, value in json.loads(line).items():
            if isinstance(value, float) and name != "step" and math.isfinite(value):
                assert value in words or any(math.isclose(value, one) for one in words), value


def _numbers_in(line: bytes) -> set[float]:
    """Every number that a stretch of the line may mean to Python."""
    text = line.decode("utf-8", "replace")
    found = set()
    for match in re.finditer(r"[-+.\deE_,]{1,60}", text):
        word = match[0].replace(",", "")
        for begin in range(len(word)):
            for end in range(begin + 1, len(word) + 1):
                try:
                    found.add(float(word[begin:end]))
                except ValueError:
                    continue
    return found


TARGETS = (
    Target(
        name="jsonl",
        inputs=mutated(_LINES, _WORDS).flatmap(
            lambda data: st.tuples(st.just(data), mutated((data,), _WORDS, most=2))
        ),
        check=_check_jsonl,
    ),
    Target(
        name="csv",
        inputs=mutated(_TABLES, (b",", b";", b"step,", b"nan", b"1e400", b"\xc3")),
        check=_check_csv,
    ),
    Target(
        name="tensorboard",
        inputs=st.tuples(st.lists(mutated(_EVENTS), min_size=1, max_size=3), st.none())
        | st.tuples(st.just([]), mutated((b"".join(map(_framed, _EVENTS)),))),
        check=_check_events,
    ),
    Target(
        name="printed",
        inputs=st.tuples(
            mutated(_PRINTED, (b"step 1 loss ", b"a" * 60, b"nan")),
            st.lists(st.sampled_from(_PATTERNS), min_size=1, max_size=2),
            st.lists(st.sampled_from(["loss", "*x*", "[", "*a*a*a*b"]), max_size=2),
        ),
        check=_check_printed,
        slice_examples=20,
    ),
)
