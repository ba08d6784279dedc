"""Arrays of numpy within a pickle: every array of numbers is read, and objects are refused."""

import os
import pickle
import zipfile

import numpy as np
import pytest

from reprokit import checkpoints
from reprokit.checkpoints import tensor_tree
from reprokit.errors import CheckpointError


class Enemy:
    def __reduce__(self):
        return os.system, ("touch ran",)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "enemy",
    [
        Enemy(),
        np.array([Enemy()], dtype=object),
        np.array([], dtype=object),
        np.dtype("O"),
        np.ones(1, ">f4"),
    ],
)
def test_converting_runs_nothing_either(tmp_path, monkeypatch, enemy, protocol):
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("a.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"model_state_dict": enemy}, protocol=protocol))
    with pytest.raises(CheckpointError):
        tensor_tree.pack(checkpoints.read(tmp_path / "a.pt", older=True))
    assert not (tmp_path / "ran").exists()


def test_every_array_of_numbers_comes_back(tmp_path):
    arrays = {kind: np.arange(6).reshape(2, 3).astype(kind) for kind in ("f4", "f8", "i8", "u4", "u1", "?")}
    arrays["turned"] = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    arrays["twice"] = arrays["f4"]
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(arrays, protocol=2))
    found = checkpoints.read(tmp_path / "a.pt", older=True)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name].values, array)
        assert found[name].dtype == array.dtype.name
