"""One digest of all that lies in a folder, by `find` and by Python."""

from __future__ import annotations

import os

import pytest

from reprokit.images import file_states
from reprokit.images.file_states import state_of


@pytest.fixture
def folder(tmp_path):
    """Files, folders and links with names of all kinds."""
    made = tmp_path / "environment"
    (made / "lib" / "package" / "__pycache__").mkdir(parents=True)
    (made / "lib" / "package" / "module.py").write_text("pass\n")
    (made / "lib" / "package" / "__pycache__" / "module.pyc").write_text("code")
    (made / "marker.json").write_text("{}")
    for name in (b"new\nline", b"latin\xe9", b"back\\slash", b"%P", b" blank ", b"-name"):
        (made / os.fsdecode(name)).write_text("x")
    (made / "link").symlink_to("nowhere")
    (made / "loop").symlink_to(".")
    os.mkfifo(made / "pipe")
    (made / "program").touch(mode=0o755)
    (made / "program").chmod(0o4755)
    os.utime(made / "program", ns=(1, 1_000_000_007))
    return made


ASKED = [{}, {"but": ("marker.json",)}, {"leave_out": {"__pycache__"}}, {"folders": False}]


@pytest.mark.parametrize("asked", ASKED)
def test_python_and_find_come_to_the_same_digest(folder, monkeypatch, asked):
    by_find = state_of(folder, **asked)
    assert by_find == state_of(folder, **asked)
    monkeypatch.setattr(file_states, "_by_find", lambda *_, **__: None)
    assert state_of(folder, **asked) == by_find


def test_the_digests_of_what_is_left_out_differ(folder):
    assert len({state_of(folder, **asked) for asked in ASKED}) == len(ASKED)


def _written_and_put_back(folder):
    file = folder / "lib/package/module.py"
    before = file.stat()
    file.write_text("fail\n")
    file.write_text("pass\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = {
    "written and put back": _written_and_put_back,
    "added": lambda folder: (folder / "lib/new.py").touch(),
    "removed": lambda folder: (folder / "marker.json").unlink(),
    "renamed": lambda folder: (folder / "marker.json").rename(folder / "other.json"),
    "mode": lambda folder: (folder / "marker.json").chmod(0o600),
    "an empty folder": lambda folder: (folder / "lib/empty").mkdir(),
    "a file in the place of a link": lambda folder: [(folder / "link").unlink(), (folder / "link").touch()],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("by", ["find", "python"])
def test_every_change_moves_it(folder, monkeypatch, change, by):
    if by == "python":
        monkeypatch.setattr(file_states, "_FIND", "/nowhere/find")
    before = state_of(folder)
    CHANGES[change](folder)
    assert state_of(folder) != before


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        state_of(tmp_path / "nowhere")


def test_a_find_of_another_kind_is_not_believed(folder, monkeypatch, tmp_path):
    expected = state_of(folder)
    other = tmp_path / "find"
    other.write_text("#!/bin/sh\necho 'unrecognized: -printf' >&2\nexit 1\n")
    other.chmod(0o755)
    monkeypatch.setattr(file_states, "_FIND", str(other))
    assert state_of(folder) == expected
