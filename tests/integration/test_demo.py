"""`reprokit demo` in an empty folder: in a pipe, and on a terminal where a person says yes or interrupts."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from reprokit.features.demo import trained
from support.wheel_environments import environment_with

WORDS = [sys.executable, "-m", "reprokit", "demo"]


@pytest.fixture
def variables(tmp_path):
    """Where temporary folders are made in one that is looked at."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "here").mkdir()
    found = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "TERM": "xterm", "COLUMNS": "80", "NO_COLOR": "1"}
    found.pop("GITHUB_ACTIONS", None)
    return found


def left_behind(root: Path) -> list[Path]:
    return [path for name in ("tmp", "here") for path in (root / name).iterdir()]


def test_in_a_pipe_it_shows_a_verdict_and_the_line_and_asks_nothing(tmp_path, variables):
    done = subprocess.run(
        WORDS, cwd=tmp_path / "here", env=variables, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "verdict: NONDETERMINISTIC (exit code 1)" in done.stdout
    assert "cause: unseeded_rng at fit.py:18" in done.stdout
    assert "[Y/n]" not in done.stdout
    assert left_behind(tmp_path) == []


class Person:
    """Someone at a terminal of 80 columns, or fewer, who waits for a text before the next key."""

    def __init__(
        self, variables: dict[str, str], *, folder: Path, words: Sequence[str] = WORDS, columns: int = 80
    ) -> None:
        self._screen, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        streams = {"stdin": terminal, "stdout": terminal, "stderr": terminal}
        self.process = subprocess.Popen(words, cwd=folder, env=variables, **streams)
        os.close(terminal)
        self.seen = ""

    def waits_for(self, text: str, *, within_s: float = 120.0) -> None:
        end = time.monotonic() + within_s
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self._screen], [], [], 1.0)[0]:
                self.seen += os.read(self._screen, 65536).decode()

    def types(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def leaves(self) -> int:
        """The exit code, once the tool has ended; all that it prints is read."""
        while True:
            try:
                self.seen += os.read(self._screen, 65536).decode()
            except OSError:  # the other end was closed
                break
        os.close(self._screen)
        return self.process.wait(timeout=60)


@pytest.fixture
def person(tmp_path, variables):
    someone = Person(variables, folder=tmp_path / "here")
    yield someone
    someone.process.kill()
    someone.process.wait()


def test_on_a_terminal_the_planted_fault_is_found_and_its_folder_removed(person, tmp_path):
    person.waits_for("[Y/n]")
    person.types("y\n")
    person.waits_for("Enter removes")
    assert f"unseeded_rng at train.py:{trained.planted_line()}" in person.seen
    assert list((tmp_path / "tmp").glob("*/trained/reports/*/*/report.html"))
    person.types("\n")
    assert person.leaves() == 0, person.seen
    assert f"Found: the planted fault is in line {trained.planted_line()}" in person.seen
    assert left_behind(tmp_path) == []


def test_ctrl_c_while_it_trains_leaves_nothing_behind(person, tmp_path):
    person.waits_for("[Y/n]")
    person.types("\n")
    person.waits_for("$ reprokit reproduce")
    person.process.send_signal(signal.SIGINT)
    assert person.leaves() == 130, person.seen
    assert left_behind(tmp_path) == []


def test_a_person_who_says_no_is_shown_how_to_go_on(person, tmp_path):
    person.waits_for("[Y/n]")
    assert "diagnosis.html" in person.seen
    person.types("n\n")
    assert person.leaves() == 0
    assert "reprokit init" in person.seen.rpartition("[Y/n]")[2]
    assert left_behind(tmp_path) == []


PROGRESS = re.compile(r"(run \d|\x1b)")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("extras", "columns"), [("", 60), ("all", 80)])
def test_the_wheel_alone_finds_the_fault_and_fits_the_terminal(
    wheel: Path, tmp_path: Path, variables: dict[str, str], extras: str, columns: int
) -> None:
    environment = environment_with(extras, wheel=wheel, folder=tmp_path)
    for name in ("COLUMNS", "PYTHONPATH"):
        variables.pop(name, None)
    tool = environment / "bin" / "reprokit"
    variables["PATH"] = f"{tool.parent}{os.pathsep}{variables['PATH']}"  # its commands are short then
    person = Person(variables, folder=tmp_path / "here", words=[str(tool), "demo"], columns=columns)
    try:
        for text, keys in (("[Y/n]", "y\n"), ("Enter removes", "\n")):
            person.waits_for(text)
            person.types(keys)
        assert person.leaves() == 0, person.seen
    finally:
        person.process.kill()
        person.process.wait()
    assert f"the planted fault is in line {trained.planted_line()}" in " ".join(person.seen.split())
    assert ("Report:    diagnosis.html" in person.seen) is (extras == "all")
    assert "\x1b[3" not in person.seen  # NO_COLOR
    drawn = [line.strip() for line in person.seen.split("\n") if not PROGRESS.search(line)]
    wide = [line for line in drawn if len(line) > columns and " " in line]
    assert wide == []
    assert left_behind(tmp_path) == []
