"""A program whose failure a pipe or a shell hides ends with exit code 0: its logs say so."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from reprokit.harness.judging.printed_failures import failure_at_end
from support.command_line import reprokit


def traceback_of(error: Exception) -> list[str]:
    return [
        "Traceback (most recent call last):",
        '  File "train.py", line 3',
        f"{type(error).__name__}: {error}",
    ]


@pytest.mark.parametrize("after", [[], [""], ["done"], ["Command exited", "with code 1", ""]])
def test_a_traceback_at_the_end_is_named_by_its_exception(after):
    assert (
        failure_at_end(["step 1", *traceback_of(ValueError("odd shape")), *after]) == "ValueError: odd shape"
    )


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["step 1", "ValueError: odd shape"],
        [*traceback_of(ValueError("retried")), *[f"step {number}" for number in range(9)]],
        ["Exception ignored in: <function Pool.__del__>", *traceback_of(OSError("closed"))],
        ["Traceback (most recent call last):"],
    ],
)
def test_logs_that_end_otherwise_name_none(lines):
    assert failure_at_end(lines) == ""


OF_A_GROUP = """\
step 1
  + Exception Group Traceback (most recent call last):
  |   File "train.py", line 8, in <module>
  |     raise ExceptionGroup("both", [ValueError("a"), KeyError("b")])
  | ExceptionGroup: both (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: a
    +---------------- 2 ----------------
    | KeyError: 'b'
    +------------------------------------"""
UNREADABLE = """\
step 1
  File "evaluate.py", line 1
    def f(:
          ^
SyntaxError: invalid syntax"""
GO = """\
step 1
panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.main()
\t/src/main.go:12 +0x1d
exit status 2"""
RUST = """\
step 1
thread 'main' panicked at src/main.rs:4:5:
index out of bounds: the len is 3 but the index is 99
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"""
JAVA = """\
step 1
Exception in thread "main" java.lang.NullPointerException: weights
\tat a.B.main(B.java:3)"""
CPP = """\
step 1
terminate called after throwing an instance of 'std::runtime_error'
  what():  odd
Aborted (core dumped)"""
NODE = """\
/src/a.js:3
  throw new Error("odd")
  ^

Error: odd
    at Object.<anonymous> (/src/a.js:3:9)

Node.js v18.0.0"""
R = """\
[1] 1
Error in fit(x) : odd
Calls: fit
Execution halted"""
JULIA = """\
step 1
ERROR: LoadError: odd
Stacktrace:
 [1] error(s::String)
in expression starting at /src/train.jl:3"""
SIGNAL = """\
step 1
bash: line 1: 24358 Segmentation fault      (core dumped) ./train
done"""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (OF_A_GROUP, "ExceptionGroup: both (2 sub-exceptions)"),
        (UNREADABLE, "SyntaxError: invalid syntax"),
        (GO, "panic: runtime error: index out of range [5] with length 3"),
        (RUST, "thread 'main' panicked at src/main.rs:4:5:"),
        (JAVA, 'Exception in thread "main" java.lang.NullPointerException: weights'),
        (CPP, "Aborted (core dumped)"),
        (NODE, "Error: odd"),
        (R, "Error in fit(x) : odd"),
        (JULIA, "ERROR: LoadError: odd"),
        (SIGNAL, "bash: line 1: 24358 Segmentation fault      (core dumped) ./train"),
        ("Killed", "Killed"),
    ],
    ids=["group", "syntax", "Go", "Rust", "Java", "C++", "node", "R", "Julia", "signal", "killed"],
)
def test_an_error_of_another_kind_at_the_end_is_named_and_further_up_is_not(text, error):
    assert failure_at_end(text.splitlines()) == error
    went_on = [f"step {number} loss 0.{number}" for number in range(9)]
    assert failure_at_end([*text.splitlines(), *went_on]) == ""


@pytest.mark.parametrize(
    "line",
    [
        "fatal: boom",
        "Error: no space in the table",
        "train.py: error: the following arguments are required: --data",
        "ERROR: cannot read weights.bin",
    ],
)
def test_the_last_words_of_a_program_that_gave_up_are_named_and_the_same_further_up_are_not(line):
    assert failure_at_end(["step 1", line, ""]) == line
    assert failure_at_end(["step 1", line, "step 2"]) == ""


@pytest.mark.parametrize(
    "line",
    [
        *[
            "Error: 0.25",
            "Killed 3 of 10 workers",
            "panicked",
            "Error rate 0.1",
            "0 Aborted",
            "ValueError: 3",
        ],
        *["error: nan", "errors: none", "fatal errors: 0", "Error: none", "error: -1e-3", "train error: .5"],
    ],
)
def test_a_line_that_only_speaks_of_errors_is_none(line):
    assert failure_at_end(["step 1", line]) == ""


CRASHES = """\
import sys
for step in range(5):
    if step == 3:
        raise RuntimeError("out of luck")
    print(f"step {step} loss {1 / (step + 1):.4f}", flush=True)
"""


def test_the_verdict_of_a_program_whose_failure_a_shell_hides_names_its_log(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(CRASHES)
    command = f"{sys.executable} train.py > {{run_dir}}/log.txt 2>&1; echo done"
    assert reprokit("reproduce", "--json", "--", "sh", "-c", command) == 0
    report = json.loads(capsys.readouterr().out)
    assert (
        "log.txt ends with an error (RuntimeError: out of luck), and the exit code is 0" in report["sentence"]
    )
    (row,) = [check for check in report["checks"] if check["id"] == "printed/failure"]
    assert "pipefail" in row["remedy"]
