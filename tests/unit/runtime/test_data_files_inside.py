"""Data comes from files whose digest was checked; anything else is refused."""

import hashlib

import pytest

from reprokit.errors import CannotRunError
from reprokit.runtime import data_files


def digest_of(path):
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_with_the_declared_digest_is_handed_over(tmp_path):
    path = tmp_path / "levels.json"
    path.write_text("[]")
    assert data_files.checked([("levels.json", digest_of(path), str(path))]) == {"levels.json": path}
    assert data_files.checked([]) == {}


def test_one_changed_byte_and_a_missing_file_are_refused_by_name(tmp_path):
    path = tmp_path / "levels.json"
    path.write_text("[]")
    declared = ("levels.json", digest_of(path), str(path))
    path.write_text("[ ]")
    with pytest.raises(CannotRunError, match=r"the data levels\.json is another file"):
        data_files.checked([declared])
    path.unlink()
    with pytest.raises(CannotRunError, match=r"the data levels\.json cannot be read: No such file"):
        data_files.checked([declared])
