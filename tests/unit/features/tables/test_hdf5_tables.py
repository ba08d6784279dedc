"""HDF5 files as tables: shown, compared, split, and refused where no digest would cover them."""

from __future__ import annotations

import numpy as np
import pytest

from reprokit import data
from reprokit.data import optional
from reprokit.data.hdf5 import groups_of
from reprokit.errors import MissingExtraError, UsageError
from reprokit.features.tables import data_tables
from reprokit.features.tables.manifest import manifest_of
from reprokit.features.tables.row_diff import diff_rows

h5py = pytest.importorskip("h5py")
IDS = np.arange(40)


@pytest.fixture
def write(tmp_path):
    def write(name: str = "all.h5", groups=("",), **columns):
        path = tmp_path / name
        with h5py.File(path, "w") as file:
            for group in groups:
                place = file.require_group(group) if group else file
                for column, values in (columns or ROWS).items():
                    place.create_dataset(column, data=values)
        return path

    return write


ROWS = {
    "id": IDS,
    "x": IDS.astype("f4") / 3,
    "pixels": np.arange(40 * 6, dtype="u1").reshape(40, 2, 3),
    "label": ["ab"[one % 2] for one in IDS],
    "odd": IDS % 2 == 1,
}


def test_its_columns_are_summarised(write):
    found = manifest_of([write()])
    assert (found.num_rows, found.duplicates, found.columns["label"].classes) == (40, 0, {"a": 20, "b": 20})
    kinds = {name: column.kind for name, column in found.columns.items()}
    assert kinds == {"id": "number", "x": "number", "pixels": "structure", "label": "text", "odd": "boolean"}


def test_a_split_keeps_columns_types_and_shapes_is_the_same_each_time_and_shares_no_row(write, tmp_path):
    path = write()
    for folder in ("out", "again"):
        shares = {"train": 0.5, "test": 0.5}
        data_tables.split_into(path, tmp_path / folder, shares, key=["id"], stratify="", salt="")
    parts = {name: tmp_path / "out" / f"{name}.h5" for name in ("train", "test")}
    assert data.overlaps(parts).num_duplicates == 0
    ids = []
    for name, part in parts.items():
        assert part.read_bytes() == (tmp_path / "again" / f"{name}.h5").read_bytes()
        with h5py.File(part) as file:
            assert (file["x"].dtype, file["pixels"].shape[1:], file["odd"].dtype) == ("f4", (2, 3), bool)
            ids += file["id"][()].tolist()
    assert sorted(ids) == IDS.tolist()


def test_each_group_of_a_file_is_a_table_of_its_own(write):
    path = write(groups=("train", "more/test"))
    with pytest.raises(UsageError, match=r"several tables.*all\.h5::h5/more/test, all\.h5::h5/train"):
        list(data.rows(path))
    assert groups_of(path) == ["more/test", "train"]
    shared = data.overlaps({"a": path, "b": path}, key=["id"], forms={"a": "h5/train", "b": "h5/more/test"})
    assert (shared.num_rows, shared.num_duplicates) == (80, 40)
    with pytest.raises(UsageError, match="no data sets in /other"):
        list(data.rows(path, form="h5/other"))


def test_a_changed_value_is_named(write):
    other = ROWS["pixels"].copy()
    other[7, 1, 2] += 1
    before, after = write(), write("after.h5", **{**ROWS, "pixels": other})
    (change,) = diff_rows(before, after, key=["id"]).changed
    assert (change.key, list(change.columns)) == ({"id": 7}, ["pixels"])


def external_link(file, path):
    file["x"] = h5py.ExternalLink("other.h5", "/x")


def soft_link(file, path):
    file["x"] = h5py.SoftLink("/id")


def external_data(file, path):
    file.create_dataset("x", shape=(40,), dtype="u1", external=[(str(path.with_name("raw")), 0, 40)])


def virtual(file, path):
    layout = h5py.VirtualLayout(shape=(40,), dtype="i8")
    layout[:] = h5py.VirtualSource(str(path.with_name("other.h5")), "id", shape=(40,))
    file.create_virtual_dataset("x", layout)


def other_length(file, path):
    file["x"] = np.arange(39)


def compound(file, path):
    file["x"] = np.zeros(40, dtype=[("a", "i4")])


def scalar(file, path):
    file["x"] = 1


@pytest.mark.parametrize(
    ("plant", "told"),
    [
        (external_link, "a link in an HDF5 file is not followed"),
        (soft_link, "a link in an HDF5 file is not followed"),
        (external_data, "lies in another file"),
        (virtual, "lies in another file"),
        (other_length, "have different lengths"),
        (compound, "not a column of plain values"),
        (scalar, "not a column of plain values"),
    ],
)
def test_what_is_no_table_or_lies_elsewhere_is_refused(write, tmp_path, plant, told):
    (tmp_path / "raw").write_bytes(bytes(40))
    write("other.h5")
    path = write(id=IDS)
    with h5py.File(path, "a") as file:
        plant(file, path)
    with pytest.raises(UsageError, match=told):
        list(data.rows(path))


def test_a_group_that_holds_itself_ends(write):
    path = write(id=IDS)
    with h5py.File(path, "a") as file:
        file.create_group("g")["again"] = file["/"]
    assert len(list(data.rows(path))) == 40


def test_a_damaged_file_is_refused(write, tmp_path):
    path = write()
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(UsageError, match="not an HDF5 file"):
        list(data.rows(path))


def test_without_its_library_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    def missing(name: str):
        raise ImportError(name)

    monkeypatch.setattr(optional.importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"h5py is not installed\. Hint: pip install '.*\[data\]'"):
        list(data.rows(tmp_path / "a.h5"))
