"""The quick reader of blocks: sure, or silent."""

import json

import numpy as np
import pytest

from reprokit.adapters.jsonl import quick_json
from reprokit.adapters.jsonl.jsonl_block import read_table
from reprokit.adapters.jsonl.jsonl_file import Block, line_feeds

pytest.importorskip("orjson", reason="no wheel for this Python: blocks are read line by line")
GOOD = b'{"step":0,"a":0.5}\n{"step":1,"a":-2e-3}\n'


def block(data):
    return Block(data, line_feeds(data), terminated=True)


@pytest.mark.parametrize(
    "data", [GOOD, GOOD.replace(b":", b": ").replace(b",", b", "), GOOD.replace(b"}", b" }")]
)
def test_plain_numbers_become_columns(data):
    table = read_table(block(data))
    assert table.names == ["step", "a"]
    assert [table.record(at) for at in range(2)] == [json.loads(line) for line in data.splitlines()]
    assert np.array_equal(table.columns, [[0.0, 1.0], [0.5, -0.002]])
    assert table.columns.flags.c_contiguous
    assert [type(number) for number in table.column("step")] == [int, int]


@pytest.mark.parametrize(
    "odd",
    [
        b'{"step":1,"a":NaN}',
        b'{"step":1,"a":Infinity}',
        b'{"step":1,"a":true}',
        b'{"step":1,"a":null}',
        b'{"step":1,"a":"1"}',
        b'{"step":1,"a":[1]}',
        b'{"step":1,"a":{"b":1}}',
        b'{"step":1,"a":9007199254740993}',
        b'{"step":1,"a":123456789012345678901234567890}',
        b'{"step":1,"a":1e300}',
        b'{"step":1,"a":1,"a":1}',
        b'{"step":1,"step":1}',
        b'{"step":1}',
        b'{"a":1,"step":1}',
        b'{"step":1,"b":1}',
        b'{"step":1,"a":1,"b":1}',
        b'{"step":1,"a":1}{"step":2,"a":1}',
        b'{"step":1,"a":1},{"step":2,"a":1}',
        b'{"step":1,"a":1e400}',
        b'{"step":1,"a":01}',
        b'{"step":1,"a":1}\r',
        b' {"step":1,"a":1}',
        b'[{"step":1,"a":1}]',
        b"",
        b"3",
        b'{"step":1,"a":1},3',
        b'{"step":1,"a":1,}',
        b'{"step":1,"a":\xff}',
        b'{"step":1,"a\x00":1}',
        b'{"step":1,"a":1',
        b'"step":1,"a":1}',
    ],
)
def test_whatever_is_not_sure_is_left_to_others(odd):
    assert read_table(block(GOOD + odd + b"\n" + GOOD)) is None


@pytest.mark.parametrize(
    "tricky",
    [
        b'{"a":1\n{"b":2},{"a":1}\n',  # one line too little and one too many
        b'{"a":1},"}\n{","b":2}\n',  # a text that runs over a line feed
        b'{"a":1\n"b":2},{"a":3}\n',
        b'{"a:b":1}\n{"a:b":1}\n',
        b'{"a\\u003a":1,"a\\u003a":1}\n',
        b"{}\n{}\n",
    ],
)
def test_tricks_with_lines_and_colons_do_not_get_through(tricky):
    assert read_table(block(tricky)) is None


def test_a_last_line_without_line_feed_is_left_to_others():
    data = GOOD[:-1]
    assert read_table(Block(data, np.append(line_feeds(data), len(data)), terminated=False)) is None


def test_without_the_quick_parser_a_block_is_left_to_the_reader_of_lines(monkeypatch):
    monkeypatch.setattr(quick_json, "_loads", None)
    assert read_table(block(GOOD)) is None
