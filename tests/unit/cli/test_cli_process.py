"""`reprokit` as a process among others: signals, closed and full streams, little memory, colours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.tool_process import ROOT, reprokit

WAITING = """
import os, pathlib, sys, time
pathlib.Path(sys.argv[1], "pid").write_text(str(os.getpid()))
time.sleep(99)
"""


@pytest.fixture(autouse=True)
def signals_as_in_a_terminal():
    """What `nohup` ignores for the tests would be ignored by the programs that they start."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGQUIT)}
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def start_and_wait(folder: Path, *before: str) -> tuple[subprocess.Popen[bytes], int]:
    """The tool with a program that waits, once that program runs; and the program's number."""
    tool = subprocess.Popen(
        [
            *before,
            sys.executable,
            "-m",
            "reprokit",
            "reproduce",
            "--",
            sys.executable,
            "-c",
            WAITING,
            "{run_dir}",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 100
    while not (found := [path for path in folder.rglob("pid") if path.read_text()]):
        assert time.monotonic() < deadline
        assert tool.poll() is None
        time.sleep(0.1)
    return tool, int(found[0].read_text())


def is_running(program: int) -> bool:
    state = Path(f"/proc/{program}/stat")
    return state.exists() and "Z" not in state.read_text().split()[2]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ([signal.SIGTERM], 143),
        ([signal.SIGHUP], 143),
        ([signal.SIGINT] * 3, 130),
        ([signal.SIGQUIT], 143),
        ([signal.SIGUSR1], 143),
        ([signal.SIGXCPU], 143),
        ([signal.SIGTERM, signal.SIGHUP, signal.SIGINT], 143),
    ],
)
def test_a_signal_that_ends_the_tool_stops_the_program_too(tmp_path, signals, code):
    tool, program = start_and_wait(tmp_path)
    for number in signals:
        tool.send_signal(number)
        time.sleep(0.02)
    assert tool.wait(timeout=30) == code
    assert not is_running(program)


def test_a_terminal_that_is_closed_does_not_stop_what_nohup_started(tmp_path):
    tool, program = start_and_wait(tmp_path, "nohup")
    tool.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert (tool.poll(), is_running(program)) == (None, True)
    tool.send_signal(signal.SIGTERM)
    assert tool.wait(timeout=30) == 143


@pytest.fixture
def pair(tmp_path) -> list[str]:
    """Two metrics files that differ in many metrics."""
    for name, value in (("a", 1.0), ("b", 2.0)):
        record = {"step": 1, **{f"group/metric_{number}": value for number in range(300)}}
        (tmp_path / name).with_suffix(".jsonl").write_text(json.dumps(record) + "\n")
    return [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]


def into_a_closed_pipe(*arguments: str):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return reprokit(*arguments, stdout=writer)
    finally:
        os.close(writer)


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_reader_that_goes_away_is_no_fault_and_no_answer(pair, json_too):
    ended = into_a_closed_pipe("diff", *pair, *json_too)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["diff", "--help"]])
def test_help_for_nobody_is_no_fault(arguments):
    ended = into_a_closed_pipe(*arguments)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_an_error_that_nobody_reads_does_not_look_like_an_answer():
    reader, writer = os.pipe()
    os.close(reader)
    ended = reprokit("diff", "nowhere", "nowhere", stderr=writer)
    os.close(writer)
    assert (ended.returncode, ended.stdout) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_answer_that_finds_no_space_is_3_and_says_so(pair):
    with Path("/dev/full").open("w") as full:
        ended = reprokit("diff", *pair, stdout=full)
    assert ended.returncode == 3
    assert ended.stderr == "Error: cannot write to standard output: No space left on device\n"


def by_a_shell(line: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The tool as a shell line starts it, ``"$@"`` being its command."""
    return subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, "-m", "reprokit", *arguments],
        check=False,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


LOGGING = (
    "import pathlib, sys; pathlib.Path(sys.argv[1], 'metrics.csv').write_text('step,loss\\n1,2\\n2,1\\n')"
)
ANSWERS = [["reproduce"], ["run"], ["diagnose"]]


@pytest.mark.parametrize("verb", ANSWERS)
def test_with_standard_output_closed_nothing_is_begun_and_no_answer_given(tmp_path, verb):
    ended = by_a_shell('"$@" >&-', *verb, "--", sys.executable, "-c", LOGGING, "{run_dir}", cwd=tmp_path)
    assert ended.returncode == 3
    assert ended.stderr.startswith("Error: standard output is closed")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sample(2)
@pytest.mark.parametrize("streams", ["<&- 2>&-", "2>/dev/full", "2>&-", "<&-"])
def test_without_messages_or_input_the_answer_is_given_as_ever(tmp_path, streams):
    line = f'"$@" {streams}'
    ended = by_a_shell(line, "reproduce", "--", sys.executable, "-c", LOGGING, "{run_dir}", cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "REPEATABLE" in ended.stdout


@pytest.mark.parametrize(
    ("streams", "code"),
    [(">/dev/full", 3), (">/dev/full 2>/dev/full", 3), (">&- 2>&-", 3), ("1</dev/null", 3)],
)
@pytest.mark.parametrize("verb", ["diff", pytest.param("report", marks=pytest.mark.slow)])
def test_an_answer_that_is_not_written_is_neither_0_nor_1(pair, tmp_path, sample_runs, streams, code, verb):
    arguments = ["diff", pair[0], pair[0]] if verb == "diff" else ["report", "show", *sample_runs]
    ended = by_a_shell(f'"$@" {streams}', *arguments, cwd=tmp_path)
    assert ended.returncode == code, ended.stderr
    assert "bug in reprokit" not in ended.stderr


@pytest.fixture
def sample_runs(tmp_path) -> list[str]:
    """Two runs of a command, made by the tool."""
    command = ["--runs-dir", "made", "--", sys.executable, "-c", LOGGING, "{run_dir}"]
    return [reprokit("run", *command, cwd=tmp_path).stdout.strip() for _ in range(2)]


@pytest.mark.parametrize("kibibytes", [40_000, 120_000, 160_000])
def test_too_little_memory_is_3_and_said_in_a_sentence(pair, tmp_path, kibibytes):
    ended = by_a_shell(f'ulimit -v {kibibytes}; exec "$@"', "diff", *pair, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith("Error: there is not enough memory for reprokit.\nHint: ")


@pytest.mark.parametrize(
    "fault", [MemoryError(), OSError(12, "no"), RuntimeError("can't start new thread"), ImportError("x")]
)
def test_a_lack_of_memory_is_known_in_whatever_form_it_comes(end, fault, capsys):
    assert end(fault) == 3
    lacks = not isinstance(fault, ImportError)
    assert ("not enough memory" in capsys.readouterr().err) == lacks


def test_a_full_disk_is_no_fault_of_the_tool_and_names_the_file(end, capsys):
    assert end(OSError(28, "No space left on device", "runs/x/run.json")) == 3
    told = capsys.readouterr().err
    assert told == "Error: runs/x/run.json: No space left on device\nHint: make room on the disk\n"


def test_a_disk_that_fails_is_no_fault_of_the_tool(end, capsys):
    assert end(OSError(5, "Input/output error", "runs/x/metrics.jsonl")) == 3
    told = capsys.readouterr().err
    assert told.startswith("Error: runs/x/metrics.jsonl: Input/output error\nHint: look at the disk")


def test_standard_output_is_data_and_nothing_else(pair):
    differs = reprokit("diff", *pair, "--json")
    assert (differs.returncode, differs.stderr) == (1, "")
    assert json.loads(differs.stdout)["identical"] is False


def test_progress_goes_to_standard_error(tmp_path):
    ended = reprokit("reproduce", "--json", "--", sys.executable, "-c", "pass", cwd=tmp_path)
    assert json.loads(ended.stdout)["exit_code"] == ended.returncode == 4
    assert "phase: train" in ended.stderr


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {}], ids=["NO_COLOR", "pipe"])
def test_what_is_no_terminal_or_wants_no_colour_gets_none(pair, environ):
    ended = reprokit("diff", *pair, env={"TERM": "xterm-256color", **environ})
    assert ended.returncode == 1
    assert "\x1b" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("environ", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_terminal_gets_colour_unless_it_wants_none(pair, environ, coloured):
    pty = pytest.importorskip("pty")
    main_end, terminal = pty.openpty()
    try:
        clean = {"NO_COLOR": "", "GITHUB_ACTIONS": "", "TERM": "xterm-256color"}
        ended = reprokit("diff", *pair, env={**clean, **environ}, stdout=terminal)
        shown = os.read(main_end, 65536).decode()
    finally:
        os.close(terminal)
        os.close(main_end)
    assert ended.returncode == 1
    assert "DIFFERS" in shown
    assert ("\x1b[" in shown) is coloured
