"""Pickles read by hand: no way to name, to claim or to nest anything gets past the reader."""

import struct
import time

import pytest

from reprokit import checkpoints
from reprokit.checkpoints import pickle_reader
from reprokit.errors import CheckpointError


@pytest.mark.parametrize(
    "pickle_of",
    [
        b"\x80\x02" + b"cposix\nsystem\n" + b"(X\x08\x00\x00\x00touch xxtR.",
        b"\x80\x02}\x81.",
        b"(i__builtin__\neval\n.",
        b"(o.",
        b"\x80\x02\x82\x01.",
        b"\x80\x04\x8c\x05posix\x8c\x06system\x93.",
        b"Pname\n.",
    ],
)
def test_every_way_to_name_something_outside_is_refused(pickle_of):
    with pytest.raises(CheckpointError):
        pickle_reader.load(pickle_of, storage=None)


@pytest.mark.parametrize(
    "pickle_of",
    [
        b"\x80\x02X" + struct.pack("<I", 1 << 30) + b"short",
        b"\x80\x04\x8d" + struct.pack("<Q", 1 << 40) + b"short",
        b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b"short",
        b"\x80\x02\x8b" + struct.pack("<i", (1 << 31) - 1) + b"1",
        b"\x80\x02K\x01r" + struct.pack("<I", (1 << 32) - 1),
        b"",
        b"\x80\x02",
        b"\x80\x02.",
        b"u.",
        b"\x80\x02K\x01K\x02s.",
        b"\x80\x02h\x07.",
        b"\x80\x02}}}s.",
        b"I" + b"9" * 5000 + b"\n.",
    ],
)
def test_lengths_that_no_file_holds_and_torn_lists_are_refused_in_no_time(pickle_of):
    with pytest.raises(CheckpointError):
        checkpoints_of(pickle_of)


def checkpoints_of(pickle_of):
    found = pickle_reader.load(pickle_of, storage=None)
    if not isinstance(found, dict):
        raise CheckpointError("no dict")
    return list(checkpoints.leaves(found))


def test_a_list_that_holds_itself_and_one_that_unfolds_without_end_are_refused():
    itself = b"\x80\x02}X\x01\x00\x00\x00a]q\x00h\x00as."
    with pytest.raises(CheckpointError, match="contains itself"):
        checkpoints_of(itself)
    level = b"]q\x00"
    for number in range(1, 9):  # each list holds the one before ten times
        level = b"](" + level + b"h%c" % (number - 1) * 9 + b"eq%c" % number
    laughs = b"\x80\x02}X\x01\x00\x00\x00a" + level + b"s."
    with pytest.raises(CheckpointError, match="expands to more than"):
        checkpoints_of(laughs)


@pytest.mark.parametrize("opened", [b"(", b"(("])
def test_deep_nesting_takes_time_in_proportion(opened):
    began = time.process_time()
    pickle_reader.load(b"\x80\x02" + opened * 100_000 + b"t" * 100_000 + b".", storage=None)
    assert time.process_time() - began < 5


def test_a_mark_that_was_taken_for_a_value_is_corrupt():
    with pytest.raises(CheckpointError, match="corrupt"):
        pickle_reader.load(b"\x80\x02](a)t.", storage=None)
