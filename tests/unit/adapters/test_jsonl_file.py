"""The bytes of a file: blocks of whole lines, and what is no file."""

import os
import socket

import pytest

from reprokit.adapters.jsonl.jsonl_file import MAX_LINE_BYTES, LineFile, LineTooLongError
from reprokit.errors import MetricsError


def all_lines(path, **options):
    with LineFile(path, **options) as file:
        return [line for block in file.blocks() for line in block.lines()]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1 << 19])
@pytest.mark.parametrize(
    "data", [b"", b"\n", b"a\n", b"a", b"a\nbb\n\nccc", b"\n\n", b"a" * 50 + b"\n" + b"b" * 3]
)
def test_blocks_hold_every_line_once_whatever_their_size(tmp_path, data, size):
    path = tmp_path / "x"
    path.write_bytes(data)
    expected = data.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert all_lines(path, block_bytes=size) == expected


def test_the_first_lines_of_a_block_are_a_block(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"a\nbb\nccc")
    with LineFile(path) as file:
        block = file.peek()
        assert not block.terminated
        assert block.head(2).lines() == [b"a", b"bb"]
        assert block.head(2).terminated
        file.advance(block, 2)
        assert (file.offset, file.line) == (5, 3)
        assert file.peek().lines() == [b"ccc"]


def test_a_line_of_a_megabyte_fits_and_one_of_many_does_not(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"a" * (1 << 20) + b"\n")
    assert len(all_lines(path)[0]) == 1 << 20
    path.write_bytes(b"a\n" + b"b" * (2 * MAX_LINE_BYTES + 2))
    with LineFile(path) as file, pytest.raises(LineTooLongError) as error:
        list(file.blocks())
    assert (error.value.file.line, file.offset) == (2, 2)


def test_a_change_while_reading_is_noticed(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"a\n")
    with LineFile(path) as file:
        assert not file.changed
        with path.open("ab") as other:
            other.write(b"b\n")
        assert file.changed


def _pipe(path):
    os.mkfifo(path)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda path: None, "missing_file"),
        (lambda path: path.mkdir(), "directory"),
        (_pipe, "not_a_file"),
        (_socket, "not_a_file"),
        (lambda path: path.symlink_to("/dev/zero"), "not_a_file"),
        (lambda path: path.symlink_to(path.parent / "nowhere"), "missing_file"),
        (lambda path: path.symlink_to(path), "unreadable_file"),
    ],
)
def test_what_is_no_file_is_named_and_not_waited_for(tmp_path, monkeypatch, make, kind):
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    path = tmp_path / "x"
    make(path)
    with pytest.raises(MetricsError) as error:
        LineFile(path)
    assert error.value.kind == kind
    assert error.value.exit_code == 2
    assert str(path) in str(error.value)


def test_a_name_with_a_nul_is_an_error_of_the_same_kind(tmp_path):
    with pytest.raises(MetricsError, match="cannot be read"):
        LineFile(tmp_path / "a\0b")
