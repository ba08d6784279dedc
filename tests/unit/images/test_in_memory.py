"""A command whose temporary folder is in memory, where no other process sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.images.building import in_memory

#: Says on what kind of file system its temporary folder is, and leaves a file there.
TELL = """
import os, pathlib, sys
folder = os.environ.get("TMPDIR", "")
rows = [line.split() for line in open("/proc/self/mounts")]
kinds = {row[1].replace("\\\\040", " "): row[2] for row in rows}
pathlib.Path(sys.argv[1]).write_text(kinds.get(folder, "disk"))
pathlib.Path(folder or ".", "left").write_text("something")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "a folder"
    made.mkdir()
    return made


def _needs_mounts(folder: Path) -> None:
    if in_memory.with_folder_in_memory(["true"], folder, needs_bytes=1) == ["true"]:
        pytest.skip("this user may not mount anything, or has no unshare")


def test_what_a_command_writes_there_is_in_memory_and_gone_with_it(folder: Path, tmp_path: Path):
    _needs_mounts(folder)
    told = tmp_path / "told"
    command = [sys.executable, "-c", TELL, str(told)]
    placed = in_memory.with_folder_in_memory(command, folder, needs_bytes=1)
    subprocess.run(placed, check=True, cwd=tmp_path)
    assert told.read_text() == "tmpfs"
    assert list(folder.iterdir()) == []


def test_other_processes_do_not_see_it(folder: Path):
    _needs_mounts(folder)
    command = ["sh", "-c", 'echo here > "$TMPDIR/file" && echo ready && read line && cat "$TMPDIR/file"']
    placed = in_memory.with_folder_in_memory(command, folder, needs_bytes=1)
    with subprocess.Popen(placed, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        assert list(folder.iterdir()) == []
        assert process.communicate("go on\n")[0] == "here\n"


def test_the_exit_code_is_the_commands(folder: Path):
    placed = in_memory.with_folder_in_memory(["sh", "-c", "exit 25"], folder, needs_bytes=1)
    assert subprocess.run(placed, check=False).returncode == 25


def test_what_does_not_fit_into_half_of_the_free_memory_stays_on_disk(folder: Path):
    assert in_memory.with_folder_in_memory(["true"], folder, needs_bytes=1 << 60) == ["true"]


def test_without_a_right_to_mount_the_command_stays_as_it_is(folder: Path, tmp_path: Path, monkeypatch):
    refusing = tmp_path / "bin" / "unshare"
    refusing.parent.mkdir()
    refusing.write_text("#!/bin/sh\necho unshare failed: Operation not permitted >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", str(refusing.parent), prepend=":")
    assert in_memory.with_folder_in_memory(["true"], folder, needs_bytes=1) == ["true"]


def test_a_host_that_does_not_say_how_much_is_free_has_none(folder: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(in_memory, "_MEMORY", tmp_path / "none")
    assert in_memory.with_folder_in_memory(["true"], folder, needs_bytes=1) == ["true"]
