"""`reprokit runs watch` on a real terminal: it shows a run that is under way, and Ctrl-C ends it well."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

from reprokit.workspace import this_process

WORDS = [sys.executable, "-m", "reprokit", "runs", "watch", "--runs-dir", "runs"]


def begin(root: Path) -> None:
    folder = root / "runs" / "train" / "20261120T101500Z-5f2a-seed1-1"
    (folder / "output").mkdir(parents=True)
    record = {"schema": 1, "seed": 1, "state": "running", "owner": this_process()}
    (folder / "run.json").write_text(json.dumps(record))
    lines = (json.dumps({"step": at, "train/loss": 9.0 - at}) for at in range(9))
    (folder / "output" / "metrics.jsonl").write_text("\n".join(lines) + "\n")


def read_until(screen: int, text: bytes, *, within_s: float = 60.0) -> bytes:
    seen, end = b"", time.monotonic() + within_s
    while text not in seen and time.monotonic() < end:
        if select.select([screen], [], [], 1.0)[0]:
            seen += os.read(screen, 4096)
    return seen


def test_it_shows_what_runs_until_ctrl_c_which_is_no_failure(tmp_path: Path) -> None:
    begin(tmp_path)
    screen, terminal = pty.openpty()
    variables = {**os.environ, "TERM": "xterm", "COLUMNS": "60", "PYTHONUTF8": "1"}
    variables.pop("GITHUB_ACTIONS", None)
    watching = subprocess.Popen(
        WORDS, cwd=tmp_path, env=variables, stdin=terminal, stdout=terminal, stderr=terminal
    )
    try:
        os.close(terminal)
        seen = read_until(screen, "█▇".encode())
        assert "█▇".encode() in seen, "the curve"
        assert b"1 run under way" in seen
        assert b"train/loss" in seen
        watching.send_signal(2)
        assert watching.wait(timeout=60) == 0
    finally:
        watching.kill()
        os.close(screen)


def test_in_a_pipe_it_prints_once(tmp_path: Path) -> None:
    begin(tmp_path)
    done = subprocess.run(WORDS, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "1 run under way"
    data = subprocess.run([*WORDS, "--json"], cwd=tmp_path, capture_output=True, text=True, check=True)
    (one,) = json.loads(data.stdout)
    assert (one["metric"], one["value"], one["step"]) == ("train/loss", 1.0, 8)
