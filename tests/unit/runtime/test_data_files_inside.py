"""Data comes from files whose digest was checked; anything else is refused."""

import hashlib

import pytest

from reprokit import file_tree
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


@pytest.fixture
def folder(tmp_path):
    for name in ("images/a.png", "images/7/b.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path / "images"


def test_an_unpacked_folder_is_handed_over_with_each_file_in_it(folder):
    declared = ("images", file_tree.digest_of(folder), str(folder))
    assert data_files.checked([declared]) == {
        "images": folder,
        "images/a.png": folder / "a.png",
        "images/7/b.png": folder / "7/b.png",
    }


CHANGES = {
    "a byte": lambda folder: (folder / "a.png").write_text("images/b.png"),
    "a file that is gone": lambda folder: (folder / "a.png").unlink(),
    "a file more": lambda folder: (folder / "c.png").write_text(""),
    "an empty folder more": lambda folder: (folder / "8").mkdir(),
    "another name": lambda folder: (folder / "a.png").rename(folder / "c.png"),
    "another place": lambda folder: (folder / "a.png").rename(folder / "7" / "a.png"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_folder_with_anything_else_in_it_is_refused(folder, change):
    declared = ("images", file_tree.digest_of(folder), str(folder))
    CHANGES[change](folder)
    with pytest.raises(CannotRunError, match="the data images is a folder of other files"):
        data_files.checked([declared])


def test_a_link_in_a_folder_is_refused_wherever_it_leads(folder):
    declared = ("images", file_tree.digest_of(folder), str(folder))
    (folder / "7" / "b.png").unlink()
    (folder / "7" / "b.png").symlink_to(folder / "a.png")
    with pytest.raises(CannotRunError, match="it is a link or a device"):
        data_files.checked([declared])


def test_a_file_is_no_folder_and_a_folder_no_file(folder):
    with pytest.raises(CannotRunError, match="cannot be read"):
        data_files.checked([("a", file_tree.digest_of(folder), str(folder / "a.png"))])
    with pytest.raises(CannotRunError, match="cannot be read"):
        data_files.checked([("a", digest_of(folder / "a.png"), str(folder))])
