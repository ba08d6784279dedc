"""A table in another format and back: the same rows, or nothing."""

from __future__ import annotations

import json

import pytest

from reprokit import data
from reprokit.data import columnar
from reprokit.errors import UsageError
from reprokit.features.tables import conversion
from reprokit.features.tables.conversion import converted
from reprokit.features.tables.manifest import manifest_of
from support.command_line import reprokit

pytest.importorskip("h5py")
arrow = pytest.importorskip("pyarrow")
CSV = 'id,height,code,name\n1,1.5,007,Ada\n2,2.0,010,"B, C"\n3,1e-07,011,é\n'


@pytest.mark.parametrize("form", ["h5", "parquet", "arrow", "jsonl", "tsv"])
def test_there_and_back_is_the_same_file(table, tmp_path, form):
    path = table(CSV)
    assert reprokit("data", "export", path, "--output", tmp_path / f"b.{form}") == 0
    assert reprokit("data", "export", tmp_path / f"b.{form}", "--output", tmp_path / "c.csv") == 0
    assert (tmp_path / "c.csv").read_text() == CSV


def test_numbers_are_those_texts_that_are_written_like_their_numbers(table, tmp_path):
    reprokit("data", "export", table(CSV), "--output", tmp_path / "b.h5")
    kinds = {name: column.kind for name, column in manifest_of([tmp_path / "b.h5"]).columns.items()}
    values = [dict(row.values) for row in data.rows(tmp_path / "b.h5")]
    assert kinds["height"] == kinds["id"] == "number"
    assert values[0] == {"id": 1, "height": 1.5, "code": "007", "name": "Ada"}


@pytest.mark.parametrize(("first", "second"), [("parquet", "h5"), ("h5", "parquet"), ("parquet", "jsonl")])
def test_types_lists_and_missing_values_survive_between_typed_formats(tmp_path, first, second):
    rows = {"a": arrow.array([1, 2], arrow.uint16()), "b": arrow.array([0.1, 0.2], arrow.float32())}
    rows["c"] = arrow.array([[1, 2], [3, 4]], arrow.list_(arrow.int16(), 2))
    rows["d"] = arrow.array(["x", "y"])
    path = tmp_path / "a.parquet"
    path.write_bytes(columnar.file_bytes(arrow.table(rows), "parquet", path=path))
    if first == "h5":
        (tmp_path / "a.h5").write_bytes(converted(path, "parquet", "h5"))
        path = tmp_path / "a.h5"
    made = tmp_path / f"b.{second}"
    made.write_bytes(converted(path, first, second))
    assert [dict(row.values) for row in data.rows(made)] == [dict(row.values) for row in data.rows(path)]


REFUSED = {
    "a list in CSV": ('{"a": [1]}\n', "csv", "a CSV file has no lists: a"),
    "missing beside empty": ('{"a": null}\n{"a": ""}\n', "csv", "cannot tell missing and empty"),
    "other columns": ('{"a": 1}\n{"b": 1}\n', "csv", "several sets of columns"),
    "missing values in HDF5": ('{"a": 1}\n{"a": null}\n', "h5", "HDF5 has no missing values, and a has some"),
    "lists of other lengths": ('{"a": [1]}\n{"a": [1, 2]}\n', "h5", "HDF5 cannot hold the column a"),
    "several kinds": ('{"a": 1}\n{"a": "x"}\n', "parquet", "values of several kinds"),
    "whole numbers and others": ('{"a": 1}\n{"a": 1.5}\n', "parquet", "row 1 would not be the same"),
    "an integer that no float holds": ('{"a": 9007199254740993}\n{"a": 0.5}\n', "parquet", "row|kinds"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_not_survive_is_refused_and_nothing_is_written(table, tmp_path, capsys, case):
    text, form, told = REFUSED[case]
    with pytest.raises(UsageError, match=told):
        converted(table(text, "a.jsonl"), "jsonl", form)
    assert reprokit("data", "export", tmp_path / "a.jsonl", "--output", tmp_path / f"b.{form}") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl"]


def test_a_conversion_that_loses_a_digit_is_found(table, tmp_path, monkeypatch):
    real = conversion._typed

    def lossy(path, form):
        return {
            name: array.astype("f4") if array.dtype == "f8" else array
            for name, array in real(path, form).items()
        }

    monkeypatch.setattr(conversion, "_typed", lossy)
    with pytest.raises(UsageError, match="row 1 would not be the same as h5"):
        converted(table("a\n0.1\n"), "csv", "h5")


def test_tables_of_which_no_row_could_be_equal_are_not_said_to_share_none(table, tmp_path):
    first, other = table("a,b\n1,2\n"), table("a,c\n1,2\n", "b.csv")
    with pytest.raises(UsageError, match="only one of them has the column 'b'"):
        data.overlaps({"a": first, "b": other})
    assert data.overlaps({"a": first, "b": other}, key=["a"]).num_duplicates == 1
    (tmp_path / "b.parquet").write_bytes(converted(first, "csv", "parquet"))
    with pytest.raises(UsageError, match="a row of parquet is never equal to one of csv"):
        data.overlaps({"a": first, "b": tmp_path / "b.parquet"})
    (tmp_path / "b.h5").write_bytes(converted(first, "csv", "h5"))
    assert data.overlaps({"a": tmp_path / "b.h5", "b": tmp_path / "b.parquet"}).num_duplicates == 1
    forms = {"a": "tokens/uint8/2", "b": "tokens/uint8/3"}
    with pytest.raises(UsageError, match="is never equal"):
        data.overlaps({"a": first, "b": other}, forms=forms)


def test_a_file_that_is_there_is_not_overwritten(table, tmp_path, capsys):
    path, there = table(CSV), table("mine", "b.h5")
    assert reprokit("data", "export", path, "--output", there) == 2
    assert there.read_text() == "mine"
    assert "such a file already" in capsys.readouterr().err
    capsys.readouterr()
    assert reprokit("data", "export", path, "--output", tmp_path / "c.parquet", "--json") == 0
    assert list(json.loads(capsys.readouterr().out)["files"]) == ["c.parquet"]
