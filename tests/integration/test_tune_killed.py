"""A search whose tool is killed at random moments: the study is that of one worker, byte for byte."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import reprokit
from support.tuned_program import bare_python, prepare

SOURCE = Path(reprokit.__file__).parent.parent


def started(root: Path, *, runs: str, trials: int, workers: int) -> subprocess.Popen[str]:
    words = ["--trials", str(trials), "--workers", str(workers), "--runs-dir", runs, "--pruner", "median"]
    return subprocess.Popen(
        [sys.executable, "-m", "reprokit", "tune", "train", "--space", "space.yaml", "--json", *words],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(root: Path, *, runs: str, trials: int, workers: int) -> bytes:
    """The study of a call that no one kills."""
    tool = started(root, runs=runs, trials=trials, workers=workers)
    out, err = tool.communicate(timeout=900)
    assert tool.returncode == 0, err
    return Path(json.loads(out)["path"]).read_bytes()


@pytest.mark.slow  # a sweep, which a search is made of: test_sweep_killed.py
@pytest.mark.parametrize(("kills", "workers", "trials"), [(5, 2, 8), (20, 4, 30)])
def test_the_study_of_a_killed_search_is_that_of_one_worker(tmp_path, monkeypatch, kills, workers, trials):
    monkeypatch.setenv("PATH", bare_python(tmp_path / "bin"))
    root, moments = prepare(tmp_path / "theirs").root, random.Random(kills)
    expected = finished(root, runs="r1", trials=trials, workers=1)
    begun = set()
    for _ in range(kills):
        tool = started(root, runs="r2", trials=trials, workers=workers)
        before = len(list((root / "r2").glob("train/*/run.json")))
        end = time.monotonic() + 60
        while tool.poll() is None and time.monotonic() < end:
            if len(list((root / "r2").glob("train/*/run.json"))) > before:
                break
            time.sleep(0.02)
        time.sleep(moments.uniform(0, 0.25))
        tool.send_signal(signal.SIGKILL)
        tool.communicate()
        begun.add(len(list((root / "r2").glob("train/*/run.json"))))
    assert len(begun) > 1, "no kill met a search under way"
    assert finished(root, runs="r2", trials=trials, workers=workers) == expected
    rows = json.loads(expected)["trials"]
    assert [row["number"] for row in rows] == list(range(trials))
    assert {row["state"] for row in rows} <= {"COMPLETE", "PRUNED", "FAIL"}
