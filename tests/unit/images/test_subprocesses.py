"""Running other programs: their lines, their end, and stopping them."""

from __future__ import annotations

import sys
import threading

import psutil
import pytest

from reprokit.images.subprocesses import heartbeat, run_command


def test_lines_come_as_they_are_printed_and_the_exit_code_is_read():
    seen = []
    program = "import sys; print('one'); print('two', file=sys.stderr); sys.exit(3)"
    ended = run_command([sys.executable, "-u", "-c", program], on_line=seen.append)
    assert ended.exit_code == 3
    assert seen == ["one", "two"]
    assert ended.last_lines == "one\ntwo"


def test_bytes_that_are_no_text_do_no_harm():
    ended = run_command([sys.executable, "-c", r"import os; os.write(1, b'a\xff\n')"])
    assert ended.tail == ("a�",)


def test_a_program_that_asks_gets_no_answer():
    ended = run_command([sys.executable, "-c", "input('sure? ')"])
    assert ended.exit_code == 1
    assert "EOFError" in ended.last_lines


def test_an_interrupted_command_is_stopped_first():
    children, program = [], "import time; print('up'); time.sleep(600)"

    def interrupt(_line: str) -> None:  # earlier tests may have left children, too
        children.extend(one for one in psutil.Process().children() if program in one.cmdline())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_command([sys.executable, "-uc", program], on_line=interrupt)
    assert children
    assert not any(child.is_running() for child in children)


def test_a_command_that_is_not_there_is_an_error_of_its_own():
    with pytest.raises(FileNotFoundError):
        run_command(["no-such-command-anywhere"])


def test_a_heartbeat_says_what_lasts_and_ends_with_it():
    said, beaten = [], threading.Event()

    def on_progress(line: str) -> None:
        said.append(line)
        if len(said) == 3:
            beaten.set()

    with heartbeat(on_progress, "packing", every_s=0.001):
        assert beaten.wait(30)
    assert said[0] == "packing"
    assert said[1] == "packing (0 s)"
    assert not any(thread.name == "heartbeat" for thread in threading.enumerate())
