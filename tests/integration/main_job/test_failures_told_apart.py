"""Every way not to run has its own word in run.json and in the report, exit code 3, and what to do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.workspace import exclusive


@pytest.fixture
def reproduce(tmp_path: Path, study_at):
    """Reproduce a program without a recipe, given in one line."""

    def start(program: str, *options: str):
        return study_at(tmp_path).reprokit(
            "reproduce", "--seed", "7", "--json", *options, "--", sys.executable, "-c", program
        )

    return start


def is_told(answer, word: str, says: str, do: str) -> None:
    assert (answer.code, answer.report["verdict"]) == (3, "NOT_RUN"), answer.out + answer.err
    told = answer.report["not_run"]
    assert told["outcome"] == word
    assert says in told["message"]
    assert do in told["remedy"]
    record = json.loads((Path(told["run"]) / "run.json").read_text())
    assert (record["state"], record["outcome"], record["message"]) == ("finished", word, told["message"])
    assert not (Path(told["run"]) / "COMPLETE").exists()


@pytest.mark.parametrize(
    ("program", "options", "word", "says", "do"),
    [
        ("raise ValueError('planted')", (), "crashed", "ValueError: planted", "stderr.log"),
        ("import os; os.kill(os.getpid(), 9)", (), "signalled", "SIGKILL", "find out who sent it"),
        ("raise MemoryError('planted')", (), "out_of_memory", "MemoryError", "memory limit"),
        ("import time; time.sleep(60)", ("--timeout", "1"), "timed_out", "limit of 1 s", "raise"),
    ],
    ids=["crash", "signal", "memory", "time"],
)
def test_a_program_that_fails_is_told_by_how_it_failed(reproduce, program, options, word, says, do):
    answer = reproduce(program, *options)
    is_told(answer, word, says, do)
    if "planted" in program:
        assert "planted" in answer.report["not_run"]["log_tail"]


@pytest.mark.slow
def test_a_tool_that_needs_the_workspace_alone_is_waited_for_and_then_named(reproduce, tmp_path):
    with exclusive(tmp_path / "runs"):
        answer = reproduce("pass")
    is_told(answer, "workspace_busy", "the folder is in use by process", "wait until it has ended")


def test_a_runs_folder_that_cannot_be_written_is_told(reproduce, tmp_path):
    runs = tmp_path / "runs"
    runs.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "reprokit-test", str(runs)]
    mounted = subprocess.run(command, check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a file system here: {mounted.stderr.decode().strip()}")
    try:
        answer = reproduce("pass")
    finally:
        subprocess.run(["umount", "--lazy", str(runs)], check=True)
    assert answer.code == 3
    assert "Traceback" not in answer.err
    assert "Read-only file system" in answer.err
    assert "--runs-dir" in answer.err


def test_an_environment_that_cannot_be_made_is_told(study_at, small_project, project):
    """A wheel that is not the one that the lock names: nothing is installed from it, nothing runs."""

    shutil.copytree(project / "recipes", small_project.root / "recipes")
    locked = small_project.lock.read_text()
    small_project.add_wheel(text="VERSION = 'another'\n")
    small_project.lock.write_text(locked)
    answer = study_at(small_project.root).reprokit(
        "reproduce",
        "cartpole_baseline",
        "--backend",
        "local",
        "--json",
        env={"REPROKIT_CACHE": str(small_project.cache)},
    )
    is_told(answer, "image_build_failed", "the wheel is not the one that the lock names", "do not use it")
