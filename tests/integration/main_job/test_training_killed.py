"""`kill -9` of the training, whenever it comes: no file is unreadable, and nothing counts as finished.

The training is the real one, made to write all the time: an update every 256 steps, and a checkpoint
after each. Both runs of a `reproduce` are killed, each at a moment of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 90.0
#: When to kill: while it starts, at any time, or in the midst of writing a checkpoint.
STARTING, WRITING, IN_A_CHECKPOINT = "starting", "writing", "in a checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a run is killed: at least ``after_s`` after its phase began."""

    phase: str
    after_s: float


def moments(count: int, *, seed: int) -> list[Moment]:
    """Of eight kills one comes while the training starts and three in a checkpoint, two of those early."""
    draw = random.Random(seed)
    phases = [STARTING, IN_A_CHECKPOINT, IN_A_CHECKPOINT, WRITING, WRITING, IN_A_CHECKPOINT, WRITING, WRITING]
    return [
        Moment(phase=phase, after_s=draw.uniform(0.0, 3.0 if phase == STARTING else 1.5))
        for phase in (phases[number % len(phases)] for number in range(count))
    ]


@pytest.fixture
def busy(study):
    """A study whose training writes without end."""
    study.change(study.recipe, "\n  total_timesteps: 12288", "\n  total_timesteps: 10000000")
    study.change(study.recipe, "rollout_steps: 512", "rollout_steps: 32")
    study.change(study.recipe, "save_interval: 10000", "save_interval: 256")
    return study


def the_training(tool: psutil.Process, run: Path) -> psutil.Process | None:
    """The process that trains into a run folder, or None when there is none (yet, or any more)."""
    for child in tool.children(recursive=True):
        try:
            words = child.cmdline()
        except psutil.Error:
            continue
        if (
            "reprokit.runtime.launch" in words
            and words[0].endswith("python")
            and str(run / "output") in words
        ):
            return child
    return None


def kill(training: psutil.Process, run: Path, moment: Moment) -> bool:
    """Kill when the moment has come; whether a checkpoint was seen half-written just then."""
    output = run / "output"

    def patiently(condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert training.is_running(), f"the training ended by itself before {what}"
            assert time.monotonic() < deadline, f"waited in vain for {what}"
            time.sleep(0.0005)

    if moment.phase != STARTING:
        patiently((output / "metrics.jsonl").is_file, "its first metrics file")
    time.sleep(moment.after_s)
    if moment.phase == IN_A_CHECKPOINT:
        patiently(lambda: any(output.glob("checkpoints/.*.tmp")), "a checkpoint that is being written")
    training.send_signal(signal.SIGKILL)
    training.wait(30) if training.ppid() == os.getpid() else psutil.wait_procs([training], timeout=30)
    return any(output.glob("checkpoints/.*.tmp")) or any(run.glob("checkpoints/.*.tmp"))


def train_and_kill(study, pair: list[Moment]):
    """One `reproduce`, each of whose runs is killed; its report, and how many died in a checkpoint."""
    before = set(study.runs)
    command = [sys.executable, "-m", "reprokit", "reproduce", "cartpole_baseline", "--backend", "local"]
    with subprocess.Popen(
        [*command, "--json"],
        cwd=study.root,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as tool:
        try:
            caught = 0
            deadline = time.monotonic() + PATIENCE_S
            left = list(pair)
            done: set[Path] = set()
            while left:
                assert time.monotonic() < deadline, "no training to kill"
                assert tool.poll() is None, "the tool ended before its runs were killed"
                for record in sorted(set(study.runs) - before):
                    training = the_training(psutil.Process(tool.pid), record.parent)
                    if training and record.parent not in done and left:
                        caught += kill(training, record.parent, left.pop(0))
                        done.add(record.parent)
                time.sleep(0.01)
            out, err = tool.communicate(timeout=PATIENCE_S)
        finally:
            tool.kill()
    assert tool.returncode == 3, out + err
    return json.loads(out), caught


def lines_are_whole(path: Path) -> None:
    """Every line is a record; only what follows the last line break may be torn."""
    *whole, torn = path.read_bytes().split(b"\n")
    steps = [json.loads(line)["step"] for line in whole]
    assert steps == sorted(steps)
    assert len(torn) < 100_000


def is_readable_and_not_finished(run: Path) -> None:
    assert not (run / "COMPLETE").exists()
    record = json.loads((run / "run.json").read_text())
    assert (record["state"], record["outcome"], record["signal"]) == ("finished", "signalled", "SIGKILL")
    assert "find out who sent it" in record["remedy"]
    for name in ("environment.json", "runtime.json"):
        if (run / name).is_file():
            json.loads((run / name).read_text())
    for path in run.glob("*.jsonl"):
        lines_are_whole(path)
    manifest = run / "checkpoints" / "MANIFEST.json"
    listed = json.loads(manifest.read_text())["files"] if manifest.is_file() else {}
    for name, entry in listed.items():
        data = (run / "checkpoints" / name).read_bytes()
        assert entry["sha256"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    for path in run.glob("checkpoints/*.pt"):
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None


def kill_often(study, count: int, *, seed: int) -> None:
    caught = 0
    due = moments(count, seed=seed)
    for pair in zip(due[::2], due[1::2], strict=True):
        report, in_checkpoint = train_and_kill(study, list(pair))
        caught += in_checkpoint
        assert report["verdict"] == "NOT_RUN"
        assert (report["not_run"]["outcome"], report["not_run"]["signal"]) == ("signalled", "SIGKILL")
        assert len(report["runs"]) == 2
        for run in map(Path, report["runs"]):
            is_readable_and_not_finished(run)
        shown = study.reprokit("report", "show", *report["runs"], "--json")
        assert (shown.code, shown.report["verdict"]) == (3, "NOT_RUN")
    assert caught >= 1, "not one kill hit a checkpoint while it was written"


@pytest.mark.slow  # one kill: test_main_job.py, test_resume.py
def test_a_killed_training_leaves_whole_files_and_is_never_finished(busy):
    kill_often(busy, 4, seed=7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 105))
def test_two_hundred_killed_trainings_leave_whole_files_and_are_never_finished(busy, seed):
    kill_often(busy, 40, seed=seed)
