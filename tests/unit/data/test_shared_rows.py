"""Rows that two tables share are found whatever the tables are written in, or the question is refused."""

from __future__ import annotations

import json

import pytest

from reprokit import data
from reprokit.errors import UsageError


@pytest.fixture
def table(tmp_path):
    def table(content: str, name: str):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return table


@pytest.fixture
def parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    tables = pytest.importorskip("pyarrow.parquet")

    def parquet(columns: dict[str, object], name: str):
        tables.write_table(arrow.table(columns), tmp_path / name)
        return tmp_path / name

    return parquet


def shared(*paths, **how) -> int:
    return data.overlaps({path.name: path for path in paths}, **how).num_duplicates


@pytest.mark.parametrize("key", [[], ["id"]])
@pytest.mark.parametrize("end", ["csv", "tsv", "jsonl", "txt"])
def test_a_byte_order_mark_is_no_part_of_the_first_value(table, end, key):
    content = '{"id": 7}\n' if end == "jsonl" else "id\n7\n"
    marked, plain = table("\ufeff" + content, f"a.{end}"), table(content, f"b.{end}")
    assert shared(marked, plain, key=[] if end == "txt" else key) == (2 if end == "txt" else 1)
    assert all("\ufeff" not in str(dict(row.values)) for row in data.rows(marked))


@pytest.mark.parametrize("key", [[], ["id"]])
def test_numbers_are_compared_by_value_whatever_their_type(table, parquet, key):
    lines = table('{"id": 1}\n{"id": -0.0}\n{"id": 0.5}\n', "a.jsonl")
    whole, real = parquet({"id": [0, 1]}, "b.parquet"), parquet({"id": [1.0, 0.5, 9.0]}, "c.parquet")
    assert shared(lines, whole, key=key) == shared(lines, real, key=key) == 2
    assert shared(whole, real, key=key) == 1
    nested, same = (
        table('{"id": [1, {"a": 2.0}]}\n', "d.jsonl"),
        table('{"id": [1.0, {"a": 2}]}\n', "e.jsonl"),
    )
    assert shared(nested, same, key=key) == 1


@pytest.mark.parametrize("key", [[], ["id"]])
@pytest.mark.parametrize("other", ['"1"', "true", '"1"}\n{"id": 1', "[1]"])
def test_a_column_of_other_types_is_refused(table, other, key):
    first, second = table('{"id": 1}\n{"id": null}\n', "a.jsonl"), table(f'{{"id": {other}}}\n', "b.jsonl")
    with pytest.raises(UsageError, match=r"'id' holds .* in one table and .* in the other"):
        shared(first, second, key=key)


def test_a_column_that_is_empty_or_not_finite_is_no_other_type(table, parquet):
    lines = table('{"id": 1, "x": null}\n{"id": 2, "x": 0.5}\n', "a.jsonl")
    real = parquet({"id": [1, 2], "x": [float("nan"), 0.5]}, "b.parquet")
    assert shared(lines, real) == 1


def test_whole_numbers_that_one_table_writes_with_a_point_are_refused(table):
    first, second = table("id,x\n1,a\n2,b\n", "a.csv"), table("id,x\n1.0,a\n,b\n", "b.csv")
    with pytest.raises(UsageError, match=r"'id' holds whole numbers .* numbers with a decimal point"):
        shared(first, second)
    assert shared(first, second, key=["x"]) == 2
    assert shared(table("id\n1\n2.5\n", "c.csv"), table("id\n2.5\n", "d.csv")) == 1


def test_json_lines_of_other_columns_are_refused_unless_a_key_is_named(table):
    first, second = table('{"id": 1, "x": 2}\n', "a.jsonl"), table('{"id": 1, "y": 2}\n', "b.jsonl")
    with pytest.raises(UsageError, match="only one of them has the column 'x'"):
        shared(first, second)
    assert shared(first, second, key=["id"]) == 1
    ragged = table('{"id": 1}\n{"id": 1, "x": 2}\n', "c.jsonl")
    assert shared(first, ragged) == 1


@pytest.mark.parametrize(("content", "end"), [("id\n", "csv"), ("", "jsonl"), ("", "txt")])
def test_a_table_without_rows_is_not_said_to_share_none(table, content, end):
    full = {"csv": "id\n1\n", "jsonl": json.dumps({"id": 1}) + "\n", "txt": "a\n"}[end]
    for names in ("ab", "ba"):
        paths = {"a": table(content, f"a.{end}"), "b": table(full, f"b.{end}")}
        with pytest.raises(UsageError, match="there is no row") as refused:
            data.overlaps({name: paths[name] for name in names})
        assert refused.value.where == "a"
