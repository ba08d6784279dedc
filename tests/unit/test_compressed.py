"""A compressed file stands for the plain one, whatever anyone made of it, and never fills the memory."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

from reprokit.compressed import compress, open_stored, sha256_of_stored, stored, unpack
from reprokit.workspace import sha256_of

PLAIN = b"".join(b'{"step": %d, "loss": 0.5}\n' % step for step in range(2000))


@pytest.fixture
def plain(tmp_path):
    file = tmp_path / "metrics.jsonl"
    file.write_bytes(PLAIN)
    return file


def test_the_plain_bytes_come_back_and_their_digest_stays(plain):
    digest = sha256_of(plain)
    packed = compress(plain)
    assert (packed.name, plain.exists(), stored(plain)) == ("metrics.jsonl.gz", False, packed)
    assert packed.stat().st_size < len(PLAIN) / 4
    assert sha256_of_stored(plain) == digest
    with open_stored(plain) as stream:
        assert stream.read() == PLAIN
    unpack(plain)
    assert (plain.read_bytes(), packed.exists()) == (PLAIN, False)


def test_the_same_bytes_are_compressed_to_the_same_bytes(plain, tmp_path):
    first = compress(plain).read_bytes()
    other = tmp_path / "elsewhere" / "renamed.jsonl"
    other.parent.mkdir()
    other.write_bytes(PLAIN)
    assert compress(other).read_bytes() == first
    assert first[4:8] == bytes(4)  # no time


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:-4] + b"\x00\x00\x00\x00",
        lambda data: data[:100] + bytes([data[100] ^ 0x55]) + data[101:],
        lambda data: data + b"garbage",
        lambda data: b"no gzip at all",
        lambda data: b"",
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(plain, damage):
    packed = compress(plain)
    packed.write_bytes(damage(packed.read_bytes()))
    with pytest.raises(OSError, match="damaged") as raised:
        sha256_of_stored(plain)
    assert raised.value.filename == str(packed)


def test_a_file_that_unpacks_to_very_much_is_refused_and_fills_no_memory(tmp_path):
    packed = tmp_path / "metrics.jsonl.gz"
    with gzip.open(packed, "wb") as stream:
        for _ in range(64):
            stream.write(bytes(1 << 20))
    tracemalloc.start()
    with pytest.raises(OSError, match="unpacks to more than 50,000,000 bytes"):
        sha256_of_stored(tmp_path / "metrics.jsonl", most_bytes=50_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20
