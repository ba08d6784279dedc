"""Folders stay whole: atomic files, digests, one tool at a time."""

from __future__ import annotations

import errno
import multiprocessing
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from reprokit import workspace
from reprokit.core.run_record import RunOwner
from reprokit.errors import WorkspaceError


def test_a_file_is_replaced_whole_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_bytes(b"old")
    workspace.write_atomic(target, b"new")
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_git_ignores_a_folder_of_results_that_is_made_and_none_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "thesis.tex").write_text("mine")
    for name in ("reports", "runs", "runs"):
        workspace.make_results_folder(tmp_path / name)
        (tmp_path / name / "result").write_text("x")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    listed = ["git", "-C", str(tmp_path), "ls-files", "--others", "--exclude-standard"]
    told = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    assert told.split() == ["reports/result", "reports/thesis.tex"]


def test_a_full_disk_keeps_the_old_file_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "report.json"
    target.write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(workspace.os, "fsync", full)
    with pytest.raises(WorkspaceError, match="no space left"):
        workspace.write_atomic(target, b"new")
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_missing_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="gone"):
        workspace.write_atomic(tmp_path / "gone" / "x.json", b"{}")


def test_the_digest_of_a_tree_depends_on_names_and_contents_only(tmp_path: Path) -> None:
    for folder, names in {"a": ("x.py", "y.py"), "b": ("y.py", "x.py")}.items():
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_text(name)
    same = workspace.sha256_of_tree(tmp_path / "a")
    assert same == workspace.sha256_of_tree(tmp_path / "b")
    (tmp_path / "b" / "x.py").rename(tmp_path / "b" / "z.py")
    assert same != workspace.sha256_of_tree(tmp_path / "b")


def test_this_process_is_alive_and_a_reused_pid_is_not_taken_for_it() -> None:
    owner = workspace.this_process()
    assert workspace.is_alive(RunOwner(**owner))
    assert not workspace.is_alive(RunOwner(**{**owner, "started": owner["started"] - 60.0}))
    assert not workspace.is_alive(None)
    assert not workspace.is_alive(RunOwner())


def _hold(
    folder: str, held: multiprocessing.synchronize.Event, release: multiprocessing.synchronize.Event
) -> None:
    with workspace.exclusive(Path(folder)):
        held.set()
        release.wait(30)


def test_a_second_tool_in_one_workspace_is_refused_and_the_holder_named(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(str(tmp_path), held, release))
    holder.start()
    try:
        assert held.wait(30)
        with pytest.raises(WorkspaceError, match=f"process {holder.pid}"), workspace.exclusive(tmp_path):
            pass
    finally:
        release.set()
        holder.join(30)
    with workspace.exclusive(tmp_path):
        assert (tmp_path / ".lock").read_text().startswith("process ")


@pytest.mark.parametrize("length", [10, 90])
def test_a_socket_fits_into_a_short_folder_whatever_the_systems_own_is_called(tmp_path, monkeypatch, length):
    usual = tmp_path / ("x" * length)
    usual.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(usual))
    folder = workspace.short_folder()
    try:
        inner = folder / "t" / "pymp-12345678"
        inner.mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(inner / "listener-12345678"))
    finally:
        shutil.rmtree(folder)


def test_a_limit_on_the_size_of_files_is_no_question_of_rights(tmp_path):
    told = workspace.cannot_write(tmp_path / "run.json", OSError(errno.EFBIG, "File too large"))
    assert told.fix == "raise the limit on the size of files (ulimit -f)"


def test_a_file_that_a_person_named_gets_its_folder(tmp_path):
    workspace.write_named(tmp_path / "reports" / "pages" / "lr.html", b"page")
    assert (tmp_path / "reports" / "pages" / "lr.html").read_bytes() == b"page"


def test_a_named_file_below_another_file_says_that_it_cannot_be_written(tmp_path):
    (tmp_path / "reports").write_bytes(b"")
    with pytest.raises(WorkspaceError, match="cannot write"):
        workspace.write_named(tmp_path / "reports" / "lr.html", b"page")
