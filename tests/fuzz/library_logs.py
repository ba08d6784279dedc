"""Logs of libraries: W&B's transaction log, MLflow's two stores, trainer states, results of Ray Tune."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import struct
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from hypothesis import strategies as st

from reprokit import adapters
from reprokit.adapters import from_mlflow, from_rllib, from_trainer_state, from_wandb, tune_fields
from reprokit.adapters.reading import Reading

from .target import Target, mutated, mutated_json, same

RUN = "0123456789abcdef0123456789abcdef"


def _sound(readings: Iterator[Reading]) -> list[Any] | None:
    """The records of a log that is read whole, else None."""
    found = list(readings)
    assert all(one.record is not None or one.notes for one in found)
    return None if any(one.notes for one in found) else [one.record for one in found]


@cache
def _wandb_message() -> Any:
    """W&B's record as far as it is read, by protobuf itself."""
    types = descriptor_pb2.FieldDescriptorProto
    text, message = types.TYPE_STRING, types.TYPE_MESSAGE
    many = types.LABEL_REPEATED
    file = descriptor_pb2.FileDescriptorProto(name="fuzz_wandb.proto", package="fuzz", syntax="proto3")
    layout = {
        "Item": [("key", 1, text, 1, ""), ("nested_key", 2, text, many, ""), ("value_json", 16, text, 1, "")],
        "Step": [("num", 1, types.TYPE_INT64, 1, "")],
        "History": [("item", 1, message, many, ".fuzz.Item"), ("step", 2, message, 1, ".fuzz.Step")],
        "Record": [("history", 2, message, 1, ".fuzz.History")],
    }
    for name, every in layout.items():
        made = file.message_type.add(name=name)
        for field, number, kind, label, of in every:
            made.field.add(name=field, number=number, type=kind, label=label, type_name=of or None)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("fuzz.Record"))


@cache
def _wandb_records() -> tuple[bytes, ...]:
    made = []
    for step, values in enumerate(
        ({"loss": "0.5", "_timestamp": "1e9"}, {"a.b": "-0", "note": '"é"', "x": "NaN"})
    ):
        record = _wandb_message()()
        record.history.step.num = step
        for name, value in values.items():
            one = record.history.item.add(value_json=value)
            if "." in name:
                one.nested_key.extend(name.split("."))
            else:
                one.key = name
        made.append(record.SerializeToString())
    summary = bytes.fromhex("1a0f0a0d0a046265737482010430 2e3235".replace(" ", ""))
    return (*made, summary)


def _wandb_framed(records: list[bytes]) -> bytes:
    end = b"\x92\x01\x00"
    pieces = (struct.pack("<IHB", zlib.crc32(b"\1" + data), len(data), 1) + data for data in (*records, end))
    return b":W&B\xe1\xbe\0" + b"".join(pieces)


def _check_wandb(given: tuple[list[bytes], bytes | None], folder: Path) -> None:
    records, raw = given
    path = folder / "run-ab12cd34.wandb"
    path.write_bytes(_wandb_framed(records) if raw is None else raw)
    found = _sound(from_wandb.read(path))
    adapters.summarise(path)
    if raw is not None or found is None:
        return
    for data in records:
        official = _wandb_message()()
        try:
            official.ParseFromString(data)
        except DecodeError as error:
            raise AssertionError("protobuf refuses this record") from error
        for one in official.history.item:
            name = ".".join(one.nested_key) or one.key
            if name.startswith("_") or not one.value_json:
                continue
            value = -0.0 if one.value_json == "-0" else json.loads(one.value_json)
            assert any(name in record and same(record[name], value) for record in found), (name, value)


@cache
def _databases() -> tuple[bytes, ...]:
    with tempfile.TemporaryDirectory(prefix="reprokit-fuzz-") as folder:
        path = Path(folder) / "mlflow.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA page_size=512")
            connection.execute("CREATE TABLE runs (run_uuid VARCHAR(32) PRIMARY KEY, start_time BIGINT)")
            connection.execute(
                "CREATE TABLE metrics (key VARCHAR(250), value FLOAT, timestamp BIGINT, run_uuid VARCHAR(32),"
                " step BIGINT DEFAULT '0' NOT NULL, is_nan BOOLEAN)"
            )
            connection.execute("INSERT INTO runs VALUES ('a', 1)")
            rows = [("loss", at / 7, 1, "a", at, 0) for at in range(20)] + [("acc", 0.0, 1, "a", 3, 1)]
            connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)
            connection.commit()
        return (path.read_bytes(),)


@st.composite
def _changed_databases(draw: st.DrawFn) -> bytes:
    """A database of the length that it says, with bytes changed or words of its schema replaced."""
    data = bytearray(_databases()[0])
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data) - 1))
        data[at] = draw(st.integers(0, 255))
    old, new = draw(
        st.sampled_from(
            [(b"", b""), (b"CREATE TABLE metrics", b"CREATE VIEW  metrics"), (b"FLOAT", b"AS(1)")]
        )
    )
    return bytes(data).replace(old, new) if old else bytes(data)


def _check_mlflow(data: bytes, folder: Path) -> None:
    path = folder / "mlflow.db"
    path.write_bytes(data)
    before = sorted(folder.iterdir())
    found = _sound(from_mlflow.read(path))
    adapters.summarise(path)
    assert sorted(folder.iterdir()) == before, "a file was made beside the database"
    assert path.read_bytes() == data, "the database was written to"
    if found is None:
        return
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT value, is_nan FROM metrics NOT INDEXED").fetchall()
    plain = sorted(repr(math.nan if is_nan else float(value)) for value, is_nan in rows)
    ours = [
        repr(value) for record in found for name, value in record.items() if name not in {"step", "_step"}
    ]
    assert sorted(ours) == plain


_FILES = (b"1763800000000 0.5 0\n1763800000001 -0.0 1\n", b"1 nan 3\n2 1e-05 3\n", b"1 0.5\n")


def _check_mlflow_files(given: tuple[bytes, bytes], folder: Path) -> None:
    run = folder / "mlruns" / "0" / RUN
    (run / "metrics").mkdir(parents=True)
    for name, data in zip(("loss", "acc"), given, strict=True):
        (run / "metrics" / name).write_bytes(data)
    (source,) = adapters.find_all(folder)
    found = _sound(adapters.adapter_named(source.adapter).read(source.path))
    adapters.summarise(source.path)
    if found is not None:
        ours = [repr(value) for record in found for name, value in record.items() if name in {"loss", "acc"}]
        plain = [repr(float(line.split(b" ")[1])) for data in given for line in data.splitlines()]
        assert sorted(ours) == sorted(plain)


_STATES = (
    {"epoch": 1.0, "log_history": [{"step": 1, "loss": 0.5}, {"step": 2, "loss": -0.0, "note": None}]},
)


def _check_trainer_state(data: bytes, folder: Path) -> None:
    path = folder / "trainer_state.json"
    path.write_bytes(data)
    found = _sound(from_trainer_state.read(path))
    adapters.summarise(path)
    if found is not None:
        assert same(found, json.loads(data)["log_history"])


_RESULT = dict.fromkeys(sorted(tune_fields.SIGNATURE), 1) | {"a": {"b": 0.5, "c": {"d": -0.0}}, "loss": 2.0}


def _check_rllib(data: bytes, folder: Path) -> None:
    path = folder / "result.json"
    path.write_bytes(data)
    from_rllib.reads(path)
    found = _sound(from_rllib.read(path))
    adapters.summarise(path)
    if found is not None:
        lines = [json.loads(line) for line in re.split(rb"\n", data) if line.strip()]
        ours = [repr(one) for record in found for one in record.values() if isinstance(one, float)]
        assert set(ours) <= {repr(one) for line in lines for one in _floats(line)}


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _floats(one)


TARGETS = (
    Target(
        name="wandb",
        inputs=st.tuples(
            st.lists(st.deferred(lambda: mutated(_wandb_records())), min_size=1, max_size=3), st.none()
        )
        | st.tuples(st.just([]), st.deferred(lambda: mutated((_wandb_framed(list(_wandb_records())),)))),
        check=_check_wandb,
    ),
    Target(name="mlflow", inputs=_changed_databases(), check=_check_mlflow),
    Target(
        name="mlflow-files",
        inputs=st.tuples(mutated(_FILES), mutated(_FILES, most=1)),
        check=_check_mlflow_files,
    ),
    Target(
        name="trainer-state",
        inputs=mutated_json(_STATES).map(lambda one: json.dumps(one).encode())
        | mutated((json.dumps(_STATES[0]).encode(),)),
        check=_check_trainer_state,
    ),
    Target(
        name="rllib",
        inputs=mutated_json((_RESULT,)).map(lambda one: json.dumps(one).encode() + b"\n")
        | mutated((json.dumps(_RESULT).encode() + b"\n",)),
        check=_check_rllib,
    ),
)
