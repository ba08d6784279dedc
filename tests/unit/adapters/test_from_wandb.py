"""W&B's transaction log, written here byte by byte from the format's description, some to do harm."""

import math
import struct
import time
import zlib

import pytest

from reprokit import adapters
from reprokit.adapters import from_wandb
from reprokit.core.comparison import exit_code

START = b":W&B\xe1\xbe\0"
BLOCK = 32_768


def varint(number):
    found = b""
    while number >= 0x80:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value & 0xFFFF_FFFF_FFFF_FFFF)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def item(name, text):
    return field(1, field(1, name) + field(16, text))


def history(step, **values):
    return field(2, b"".join(item(name, text) for name, text in {"_step": str(step), **values}.items()))


def summary(**values):
    return field(3, b"".join(item(name, text) for name, text in values.items()))


END = field(18, field(2, 3))


def piece(kind, data, length=None):
    checksum = zlib.crc32(bytes([kind]) + data)
    return struct.pack("<IHB", checksum, len(data) if length is None else length, kind) + data


def framed(*records):
    """The records in blocks, a long one in pieces."""
    found = bytearray(START)
    for record in records:
        rest, first = record, True
        while first or rest:
            left = BLOCK - len(found) % BLOCK
            if left < 7:
                found += bytes(left)
                continue
            now, rest = rest[: left - 7], rest[left - 7 :]
            found += piece({(1, 0): 1, (1, 1): 2, (0, 1): 3, (0, 0): 4}[first, bool(rest)], now)
            first = False
    return bytes(found)


def write(tmp_path, data):
    path = tmp_path / "run-ab12cd34.wandb"
    path.write_bytes(data)
    return path


def read(tmp_path, *records):
    return [one.record for one in from_wandb.read(write(tmp_path, framed(*records)))]


def words(tmp_path, data):
    path = write(tmp_path, data)
    found = [kind for one in from_wandb.read(path) for kind, _ in one.notes]
    assert not found or exit_code(adapters.compare(path, path)) == 2
    return found


def test_the_history_and_what_only_the_summary_holds(tmp_path):
    found = read(
        tmp_path,
        history(0, loss="0.5", _runtime="1.5", _timestamp="1e9"),
        summary(loss="0.5", best="0.25", _runtime="2"),
        history(1, loss="0.25"),
        END,
    )
    assert found == [{"_step": 0, "loss": 0.5}, {"_step": 1, "loss": 0.25}, {"_step": 1, "best": 0.25}]


def test_names_within_names_are_joined(tmp_path):
    nested = field(1, field(2, "eval") + field(2, "loss") + field(16, "1.5"))
    assert read(tmp_path, field(2, nested + field(2, field(1, 7))), END) == [{"_step": 7, "eval.loss": 1.5}]


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        (field(6, 0.1), 0.1),
        (field(6, -0.0), -0.0),
        (field(5, 3), -2),
        (field(5, 2**54 + 2), 2**53 + 1),
        (field(4, 1), True),
        (field(7, "a"), "a"),
        (field(8, "[1, 2]"), [1, 2]),
        (field(3, 0), None),
    ],
)
def test_values_that_have_a_type_in_place_of_json(tmp_path, fields, value):
    (record,) = read(tmp_path, field(2, field(1, field(1, "x") + fields) + field(2, b"")), END)
    assert repr(record) == repr({"_step": 0, "x": value})


@pytest.mark.parametrize("text", ["-0", "-0.0"])
def test_the_sign_of_zero_is_kept(tmp_path, text):
    (record,) = read(tmp_path, history(0, x=text), END)
    assert math.copysign(1, record["x"]) == -1


@pytest.mark.parametrize("length", [1, 7, 32_000, 32_754, 32_755, 32_760, 70_000, 200_000])
def test_records_go_over_the_ends_of_blocks(tmp_path, length):
    text = f'"{"x" * length}"'
    found = read(tmp_path, *(history(step, note=text) for step in range(3)), END)
    assert [record["_step"] for record in found] == [0, 1, 2]
    assert {len(record["note"]) for record in found} == {length}


def test_a_log_without_an_end_is_half_a_log(tmp_path):
    assert words(tmp_path, framed(history(0, loss="0.5"))) == ["not_closed"]
    stopped = field(18, field(3, 1))
    assert words(tmp_path, framed(history(0, loss="0.5"), stopped)) == ["not_closed"]


GOOD = framed(history(0, loss="0.5"), history(1, note='"a"'), END)


@pytest.mark.parametrize("where", range(1, len(GOOD)))
def test_a_log_that_is_cut_off_anywhere_is_an_error(tmp_path, where):
    assert words(tmp_path, GOOD[:where])


@pytest.mark.parametrize("where", range(len(GOOD)))
def test_no_changed_byte_goes_unnoticed(tmp_path, where):
    changed = bytearray(GOOD)
    changed[where] ^= 4
    assert words(tmp_path, bytes(changed)) or changed[6] == 4


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty_file"),
        (START, "not_closed"),
        (START[:-1] + b"\x09", "corrupt_event"),
        (START + piece(1, b"abc", length=60_000), "corrupt_event"),
        (START + piece(1, b"abc", length=300), "torn_line"),
        (START + piece(5, b"abc"), "corrupt_event"),
        (START + piece(3, b"abc"), "corrupt_event"),
        (START + piece(2, b"abc") + piece(1, b"abc"), "corrupt_event"),
        (START + piece(2, b"abc"), "torn_line"),
        (framed(b"\xff\xff\xff"), "corrupt_event"),
        (framed(field(2, field(1, b"\x0a\xff\xff\xff\xff\x0f"))), "corrupt_event"),
        (framed(field(2, field(1, field(1, b"\xff") + field(16, "1")))), "corrupt_event"),
        (framed(history(0, x="0.5") + b"", field(2, item("x", "1") + item("x", "2"))), "duplicate_key"),
        (framed(history(0, x='1, "y": 2')), "invalid_json"),
        (framed(history(0, x="1}{")), "two_values_on_a_line"),
        (framed(history(0, x="")), "invalid_json"),
        (framed(history(0, x="[" * 100_000)), "too_deep"),
        (framed(history(0, x="1e400")), "number_overflow"),
        (framed(history(0, x="9" * 30_000)), "integer_too_long"),
        (framed(field(2, field(1, field(1, "x")))), "corrupt_event"),
        (framed(field(2, field(1, field(1, "x") + field(6, "text")))), "corrupt_event"),
    ],
)
def test_what_is_wrong_has_a_word(tmp_path, data, word):
    assert word in words(tmp_path, data)


def test_a_record_that_has_no_end_takes_bounded_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(from_wandb, "MAX_RECORD_BYTES", 1 << 16)
    assert words(tmp_path, framed(history(0, x=f'"{"x" * 100_000}"'), END)) == ["line_too_long"]


def test_too_many_names_are_named_in_bounded_time(tmp_path):
    names = b"".join(item(f"m{at}", "0.5") for at in range(110_000))
    begun = time.process_time()
    assert words(tmp_path, framed(field(2, names), END)) == ["too_many_metrics"]
    assert time.process_time() - begun < 10


def test_links_of_the_folder_wandb_are_not_followed(tmp_path):
    place = tmp_path / "wandb" / "run-20261122_123456-ab12cd34"
    place.mkdir(parents=True)
    write(place, GOOD)
    (tmp_path / "wandb" / "latest-run").symlink_to(place.name)
    assert [source.name for source in adapters.find_all(tmp_path)] == ["wandb/run-{time}-{id}/run-{id}.wandb"]
