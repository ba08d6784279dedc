"""Parquet and Arrow files are shown, compared, split and checked like other tables."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from reprokit import data
from reprokit.data import optional
from reprokit.errors import MissingExtraError, UsageError
from reprokit.features.tables import data_tables
from reprokit.features.tables.manifest import manifest_of
from reprokit.features.tables.row_diff import diff_rows

ROWS = [
    {"id": row, "x": row / 4, "label": "ab"[row % 2], "raw": b"\0", "odd": float("nan")} for row in range(40)
]


@pytest.fixture(params=["parquet", "arrow"])
def written(request, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet, ipc = importlib.import_module("pyarrow.parquet"), importlib.import_module("pyarrow.ipc")

    def write(name: str, rows) -> Path:
        path, table = tmp_path / f"{name}.{request.param}", arrow.Table.from_pylist(rows)
        if request.param == "parquet":
            parquet.write_table(table, path)
        else:
            with ipc.new_file(path, table.schema) as file:
                file.write_table(table)
        return path

    return write


def test_its_columns_are_summarised(written):
    found = manifest_of([written("all", ROWS)])
    assert (found.num_rows, found.duplicates, found.columns["label"].classes) == (40, 0, {"a": 20, "b": 20})
    assert (found.columns["x"].mean, found.columns["odd"].missing) == (4.875, 40)


def test_a_split_keeps_columns_and_types_and_shares_no_row(written, tmp_path):
    path = written("all", ROWS)
    data_tables.split_into(
        path, tmp_path / "out", {"train": 0.5, "test": 0.5}, key=["id"], stratify="", salt=""
    )
    parts = {name: tmp_path / "out" / f"{name}{path.suffix}" for name in ("train", "test")}
    assert data.overlaps(parts).num_duplicates == 0
    rows = [row.values for part in parts.values() for row in data.rows(part)]
    assert sorted(row["id"] for row in rows) == list(range(40))
    assert {row["raw"] for row in rows} == {"bytes:00"}


def test_rows_that_changed_and_rows_in_two_splits_are_found(written):
    before, after = written("before", ROWS), written("after", [{**ROWS[0], "label": "b"}, *ROWS[1:]])
    (change,) = diff_rows(before, after, key=["id"]).changed
    assert change.columns == {"label": ("a", "b")}
    assert data.overlaps({"before": before, "after": after}).num_duplicates == 39


def test_another_file_of_that_name_is_refused(written, tmp_path):
    path = written("all", ROWS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError, match=r"not a file of the form (parquet|arrow)"):
        list(data.rows(path))


def test_without_its_library_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    def missing(name: str):
        raise ImportError(name)

    monkeypatch.setattr(optional.importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"pyarrow is not installed\. Hint: pip install '.*\[data\]'"):
        list(data.rows(tmp_path / "a.parquet"))
