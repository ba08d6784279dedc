"""A process that forks for each command of the tool, as a machine of Ray keeps one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

SERVE = "from reprokit.features.machines import forks; forks.serve()"


@pytest.fixture
def server(tmp_path):
    """It, in a folder of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        yield process
        process.stdin.close()
        assert process.wait(60) == 0


def ask(server, log, *words):
    server.stdin.write(json.dumps({"words": words, "log": str(log)}) + "\n")
    server.stdin.flush()


def test_each_command_says_in_its_own_log_what_it_would_say_alone(server, tmp_path):
    for name in ("first", "second"):
        ask(server, tmp_path / name, "runs", "show", name)
        assert server.stdout.readline() == "ended\n"
    for name in ("first", "second"):
        alone = subprocess.run(
            [sys.executable, "-c", "from reprokit.cli import main; main()", "runs", "show", name],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (tmp_path / name).read_text() == alone.stdout + alone.stderr
        assert name in alone.stderr


def test_what_is_asked_to_end_is_the_command_and_the_process_goes_on(server, tmp_path):
    ask(server, tmp_path / "log", "run", "--backend", "local", "--", "sh", "-c", "touch begun; sleep 300")
    until = time.monotonic() + 60
    while not list(tmp_path.rglob("begun")):
        assert time.monotonic() < until, (tmp_path / "log").read_text()
        time.sleep(0.1)
    server.send_signal(signal.SIGTERM)
    assert server.stdout.readline() == "ended\n"
    (record,) = tmp_path.glob("runs/*/*/run.json")
    assert json.loads(record.read_text())["outcome"] == "interrupted"
    ask(server, tmp_path / "next", "--version")
    assert server.stdout.readline() == "ended\n"
    assert "reprokit" in (tmp_path / "next").read_text()


def test_without_a_command_it_ends_as_asked(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(json.dumps({"words": ["--version"], "log": str(tmp_path / "log")}).encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"ended\n"
    process.terminate()
    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
