"""Which files that runs can share belong to a program that is still running."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.core.records import RunSpec
from reprokit.harness.running.environments import shared_places

#: glibc maps a semaphore under a temporary name, then links it to the one that is asked for.
SEMAPHORE = """
import ctypes, os, sys
library = ctypes.CDLL(None, use_errno=True)
library.sem_open.restype = ctypes.c_void_p
assert library.sem_open(sys.argv[1].encode(), os.O_CREAT | os.O_EXCL, 0o600, 1), ctypes.get_errno()
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def semaphore():
    """The file of a semaphore, and the process that has it open."""
    name = f"/reprokit-test-{os.getpid()}"
    path = Path(f"/dev/shm/sem.{name[1:]}")
    words = [sys.executable, "-c", SEMAPHORE, name]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield path, process
        process.stdin.close()
    path.unlink()


def test_a_semaphore_that_another_program_has_open_is_that_programs(semaphore):
    path, process = semaphore
    assert path.exists()
    assert str(path) not in Path(f"/proc/{process.pid}/maps").read_text()
    assert shared_places._not_open([str(path)]) == set()


def test_one_whose_program_has_ended_was_left(semaphore):
    path, process = semaphore
    process.kill()
    process.wait()
    assert shared_places._not_open([str(path)]) == {str(path)}


def test_what_is_no_file_is_never_another_programs():
    assert shared_places._not_open(["shared memory of System V, key 7"]) == {
        "shared memory of System V, key 7"
    }


def test_what_another_program_removed_meanwhile_was_not_left(tmp_path, monkeypatch):
    """Its semaphores were there, and it had ended before anyone could ask who has them open."""
    file = tmp_path / "sem.mp-abc"
    monkeypatch.setattr(shared_places, "_MEMORY", (str(tmp_path),))
    monkeypatch.setattr(shared_places, "_SYSTEM_V", {})
    asked = {"recipe": "train", "seed": 0, "device": "cpu", "command": ("true",)}
    specs = [RunSpec(run_id=f"run-{number}", **asked) for number in (1, 2)]
    places = shared_places.SharedPlaces(specs, leave_out=())
    asked_before = shared_places._not_open

    def removed_first(paths):
        found = list(paths)
        file.unlink(missing_ok=True)
        return asked_before(found)

    file.write_text("1")
    monkeypatch.setattr(shared_places, "_not_open", removed_first)
    assert places.after(specs[0], began=0.0, ended=1.0, is_confined=True) == {}
    file.write_text("1")
    monkeypatch.setattr(shared_places, "_not_open", asked_before)
    found = places.after(specs[0], began=0.0, ended=1.0, is_confined=True)
    assert str(file) in found["shared"]["memory"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [(".zsh_history", "kept"), (".python_history", "kept"), (".viminfo", "kept"), ("state.json", "files")],
)
def test_what_a_persons_own_shells_and_editors_keep_in_the_home_is_named_only(
    tmp_path, monkeypatch, name, kind
):
    """A shell writes its history while one run is under way, and another shell reads it during the next."""
    for place in ("_MEMORY", "_OPEN_TO_ALL"):
        monkeypatch.setattr(shared_places, place, ())
    monkeypatch.setattr(shared_places, "_SYSTEM_V", {})
    monkeypatch.setattr(shared_places.tempfile, "gettempdir", lambda: str(tmp_path / "none"))
    asked = {"recipe": "train", "seed": 0, "device": "cpu", "command": ("true",)}
    specs = [
        RunSpec(run_id=f"run-{number}", environment={"HOME": str(tmp_path)}, **asked) for number in (1, 2)
    ]
    places = shared_places.SharedPlaces(specs, leave_out=())
    file = tmp_path / name
    file.write_text("make\n")
    began = file.stat().st_ctime
    places.after(specs[0], began=began, ended=began, is_confined=False)
    file.read_text()
    found = places.after(specs[1], began=began, ended=began + 1, is_confined=False)["shared"]
    assert {one for one in found if str(file) in found[one]} == {kind}
