"""Files as bytes and text: size, kind, encoding."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reprokit.recipes.source_file import MAX_BYTES, decoded, read_bytes


def test_a_file_of_the_largest_size_is_read(tmp_path: Path):
    (tmp_path / "r.yaml").write_bytes(b"#" * MAX_BYTES)
    assert len(read_bytes(tmp_path / "r.yaml")) == MAX_BYTES


def test_a_file_of_many_gigabytes_is_refused_without_reading_it(tmp_path: Path, refused):
    with (tmp_path / "r.yaml").open("wb") as stream:
        stream.truncate(1 << 40)
    assert "the file is too large. expected at most 1000000 bytes" in refused(read_bytes, tmp_path / "r.yaml")


def test_a_folder_is_no_file(tmp_path: Path, refused):
    assert "not a file. got a folder" in refused(read_bytes, tmp_path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, refused):
    os.mkfifo(tmp_path / "pipe")
    assert "not a file. got a special file" in refused(read_bytes, tmp_path / "pipe")


def test_a_missing_file_is_named(tmp_path: Path, refused):
    assert (
        refused(read_bytes, tmp_path / "no.yaml")
        == f"{tmp_path}/no.yaml: cannot read: No such file or directory"
    )


def test_a_path_with_a_nul_is_refused(refused):
    assert "cannot read" in refused(read_bytes, Path("a\0b"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xef\xbb\xbfa: 1", "r:1: the file begins with a byte order mark"),
        ("a: 1".encode("utf-16"), "r:1: the file is UTF-16"),
        (b"a: 1\nb: \xff\n", "r:2: byte 0xff is not valid UTF-8"),
        (b"a: 1\nb: \x00\n", "r:2: a NUL character in the file"),
        (b"a: 1\n\nb: \x1b[2J\n", "r:3: the character U+001B in the file"),
        ("a: 1\u2028b: 2".encode(), "r:1: the character U+2028 in the file"),
        ("a: \ufeff".encode(), "r:1: a byte order mark in the file"),
    ],
)
def test_what_hides_in_a_file_is_told(content, told, refused):
    assert refused(decoded, content, where="r").startswith(told)


def test_ordinary_text_passes_as_it_is():
    assert decoded("title: naïve 😀\r\n\tx".encode(), where="r") == "title: naïve 😀\r\n\tx"
