"""Stretches of equal bytes, found by several threads and always cut at a line's end."""

import pytest

from reprokit.adapters.jsonl.jsonl_equal import Stretch, equal_stretch
from reprokit.adapters.jsonl.jsonl_file import LineFile

LINE = b'{"step":1,"a":0.25}\n'


def stretch(tmp_path, left, right, *, limit=None, segment=16, start=0):
    paths = tmp_path / "left", tmp_path / "right"
    for path, data in zip(paths, (left, right), strict=True):
        path.write_bytes(data)
    with LineFile(paths[0]) as one, LineFile(paths[1]) as other:
        one.offset = other.offset = start
        size = min(len(left), len(right)) - start
        return equal_stretch(one, other, limit=size if limit is None else limit, segment_bytes=segment)


@pytest.mark.parametrize("segment", [1, 7, 16, 20, 64, 4096])
@pytest.mark.parametrize("num_lines", [1, 2, 50, 500])
def test_equal_files_are_equal_to_the_end(tmp_path, segment, num_lines):
    data = LINE * num_lines
    assert stretch(tmp_path, data, data, segment=segment) == Stretch(len(data), num_lines)


@pytest.mark.parametrize("at", [0, 1, 19, 20, 37, 511, 512, 1999])
def test_a_difference_ends_it_at_the_last_line_feed_before_its_segment(tmp_path, at):
    left = LINE * 100
    right = left[:at] + b"7" + left[at + 1 :]
    found = stretch(tmp_path, left, right, segment=16)
    assert found.num_bytes <= at
    assert left[: found.num_bytes].count(b"\n") == found.num_lines
    assert found.num_bytes == 0 or left[found.num_bytes - 1 : found.num_bytes] == b"\n"
    assert found.num_bytes >= at - 16 - len(LINE)


@pytest.mark.parametrize("odd", [b"\x00", b"\xff", b"\t", "é".encode(), b"\n"])
@pytest.mark.parametrize("at", [0, 20, 40, 400, 640, 1000])
def test_an_odd_byte_or_a_blank_line_ends_it_though_both_have_it(tmp_path, odd, at):
    data = LINE * (at // 20) + odd + LINE * 50
    found = stretch(tmp_path, data, data)
    assert found.num_bytes <= at
    assert found.num_bytes >= at - 16 - len(LINE)


@pytest.mark.parametrize("at", [16 * 33 * 1, 16 * 65, 16 * 97, 16 * 129])
def test_a_blank_line_across_the_ranges_of_two_threads_ends_it(tmp_path, at):
    line = b"a" * 15 + b"\n"
    data = line * (at // 16) + b"\n" + line * 200
    assert stretch(tmp_path, data, data, segment=16).num_bytes == at


def test_a_limit_is_kept(tmp_path):
    data = LINE * 100
    assert stretch(tmp_path, data, data, limit=110).num_bytes == 100
    assert stretch(tmp_path, data, data, limit=0) == Stretch(0, 0)
    assert stretch(tmp_path, data, data, limit=-5) == Stretch(0, 0)


def test_without_preadv_it_works_too(tmp_path, monkeypatch):
    monkeypatch.delattr("os.preadv")
    data = LINE * 100
    assert stretch(tmp_path, data, data) == Stretch(len(data), 100)


@pytest.mark.parametrize("odd", [b"\x00", b"\x09", b"\x80", b"\xff", b"\n"])
@pytest.mark.parametrize("length", [15, 16])
def test_an_odd_byte_is_seen_at_every_place_of_a_segment(tmp_path, odd, length):
    line = b"a" * length + b"\n"
    for at in range(3 * len(line)):
        data = line * 4
        data = data[:at] + odd + data[at + 1 :]
        blank = data.startswith(b"\n") or b"\n\n" in data
        found = stretch(tmp_path, data, data, segment=16)
        whole = odd == b"\n" and not blank
        assert (found.num_bytes == len(data)) == whole
        assert found.num_lines == data[: found.num_bytes].count(b"\n")
