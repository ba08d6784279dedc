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
    assert "log.txt ends with a traceback (RuntimeError: out of luck)" in report["sentence"]
    (row,) = [check for check in report["checks"] if check["id"] == "printed/failure"]
    assert "pipefail" in row["remedy"]
