"""Values that a table can hold and this machine cannot say: refused with their place, or shown shortened."""

from __future__ import annotations

import json
import sys

import pytest

from reprokit import data
from reprokit.data import columnar
from reprokit.errors import UsageError
from reprokit.features.tables.manifest import manifest_of
from support.command_line import reprokit


@pytest.mark.parametrize("line", ['{"a": "\\ud800"}', '{"a": ["\\uDC00b"]}', '{"a\\ud800": 1}'])
def test_half_of_a_surrogate_pair_is_refused_with_its_line(tmp_path, capsys, line):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": "\\ud83d\\ude00"}\n' + line + "\n")
    assert reprokit("data", "show", path) == 2
    said = capsys.readouterr().err
    assert "half of a surrogate pair" in said
    assert "a.jsonl:2" in said
    other = tmp_path / "b.jsonl"
    other.write_text('{"a": "b"}\n')
    assert reprokit("data", "check-splits", path, other) == 2
    assert reprokit("data", "split", path, "--part", "a=1.0", "--output", tmp_path / "parts") == 2


def test_a_pair_of_surrogates_is_one_character(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": "\\ud83d\\ude00"}\n')
    assert [row.values["a"] for row in data.rows(path)] == ["😀"]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("unit", ["s", "us"])
def test_a_time_beyond_the_year_9999_is_refused_with_its_column_and_row(tmp_path, form, unit):
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / f"a.{form}"
    far = 2**62 if unit == "us" else 2**42
    table = arrow.table({"id": [1, 2], "at": arrow.array([0, far], arrow.timestamp(unit))})
    path.write_bytes(columnar.file_bytes(table, form, path=path))
    with pytest.raises(UsageError, match="'at' of row 2") as refused:
        manifest_of([path])
    assert refused.value.where == str(path)


@pytest.mark.parametrize("value", ["[" * 400 + "]" * 400, "1" * 4000, json.dumps("long" * 1000)])
def test_show_shortens_a_long_value_and_keeps_it_in_json(tmp_path, capsys, value):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"a": {value}}}\n{{"a": 1}}\n')
    assert reprokit("data", "show", path) == 0
    shown = capsys.readouterr().out
    assert len(shown) < 500
    assert "more characters" in shown
    assert reprokit("data", "show", path, "--json") == 0
    assert value.strip('"') in capsys.readouterr().out


def test_values_too_deep_to_compare_are_refused_with_their_line(tmp_path, capsys):
    depth = 990 if sys.version_info >= (3, 12) else 800  # before, a comprehension had a frame of its own
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text('{"a": [1]}\n{"a": ' + "[" * depth + "]" * depth + "}\n")
    assert reprokit("data", "check-splits", tmp_path / "a.jsonl", tmp_path / "b.jsonl") == 2
    said = capsys.readouterr().err
    assert "nested too deep" in said
    assert "a.jsonl:2" in said
