"""Listening to what a program opens: whatever a look comes to, the program goes on."""

from __future__ import annotations

import os
import queue
import threading

import pytest

from reprokit.execution import opened_code
from reprokit.execution.kernel_notices import Notice
from reprokit.execution.opened_code import OpenedCode


class Opens:
    """A kernel that tells of files that are opened, by a process that waits until it is answered."""

    def __init__(self, *paths: str) -> None:
        self._waiting: queue.Queue[Notice] = queue.Queue()
        self.paths = dict(enumerate(paths))
        self.answered: queue.Queue[int] = queue.Queue()
        self._waiting.put(Notice(identity=-1, call="execve", pid=1, words=(0,) * 6))
        for number in self.paths:
            self._waiting.put(Notice(identity=number, call="open", pid=1, words=(number, *(0,) * 5)))

    def next(self, *, within_ms: int) -> Notice | None:
        try:
            return self._waiting.get(timeout=within_ms / 1000)
        except queue.Empty:
            return None

    def answer(self, notice: Notice) -> None:
        self.answered.put(notice.identity)

    def text(self, pid: int, address: int) -> str:
        return self.paths[address]


class Others:
    """Other runs, of which one lies on a file system that does not answer until it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def opened(self, path: str) -> tuple[str, str]:
        if path == "/slow":
            assert self.let_go.wait(30)
        if path == "/odd":
            raise ValueError("odd")
        return ("read", path) if path == "/other" else ("", "")


def listening(kernel: Opens, others: Others) -> OpenedCode:
    opened = OpenedCode(environment=[], libraries=[], own=[], others=others)
    opened.listen(kernel, gives_up_privileges=False)
    return opened


@pytest.fixture(autouse=True)
def of_no_process(monkeypatch):
    monkeypatch.setattr(opened_code, "_program_of", lambda _: "/usr/bin/cp")


def test_a_look_that_does_not_end_holds_no_other_call_up(monkeypatch):
    monkeypatch.setattr(opened_code, "_PATIENCE_S", 0.1)
    kernel, others = Opens("/own", "/slow", "/other", "/own"), Others()
    opened = listening(kernel, others)
    assert [kernel.answered.get(timeout=20) for _ in range(4)] == [-1, 0, 2, 3]
    others.let_go.set()
    assert kernel.answered.get(timeout=20) == 1
    opened.end()
    assert opened.found == {}
    assert "no later one" in opened.unknown


def test_a_look_that_fails_is_told_and_the_next_ones_are_made():
    kernel = Opens("/odd", "/other")
    opened = listening(kernel, Others())
    assert [kernel.answered.get(timeout=20) for _ in range(3)] == [-1, 0, 1]
    opened.end()
    assert [*opened.found] == [("read", "/other", "/usr/bin/cp")]
    assert "odd" in opened.unknown


def test_a_file_that_is_opened_to_append_to_is_noted_and_not_taken_for_read():
    kernel, others = Opens("/other"), Others()
    noted = []
    others.appended_to = noted.append
    kernel._waiting.put(Notice(1, "open", 1, (0, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0, 0, 0, 0)))
    opened = listening(kernel, others)
    assert [kernel.answered.get(timeout=20) for _ in range(3)] == [-1, 0, 1]
    opened.end()
    assert (noted, [*opened.found]) == (["/other"], [("read", "/other", "/usr/bin/cp")])


def test_what_the_kernel_starts_for_a_script_counts_as_read(tmp_path):
    state, script, other = tmp_path / "state", tmp_path / "script", tmp_path / "other"
    state.write_bytes(b"\x7fELF")
    script.write_text(f"#!{state} -x\n")
    other.write_text(f"#! {script}\n")

    class Left(Others):
        def opened(self, path: str) -> tuple[str, str]:
            return ("left", path) if path == str(state) else ("", "")

    kernel = Opens(str(other))
    opened = listening(kernel, Left())
    assert [kernel.answered.get(timeout=30) for _ in range(2)] == [-1, 0]
    opened.end()
    assert {(what, path) for what, path, _ in opened.found} == {("left", str(state))}
