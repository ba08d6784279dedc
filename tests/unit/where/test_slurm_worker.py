"""What a job of Slurm does with the command that it carries out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.errors import SchedulerError
from reprokit.where import Going, slurm
from reprokit.where.slurm_worker import Command

#: Says what it was given, and ends with 7 where it is asked to end.
WORDS = ("sh", "-c", 'trap "exit 7" TERM; echo "$@" "$SEEN" "$HIDDEN"; : > begun; sleep 60 & wait', "sh")


def test_a_command_is_asked_to_end_before_the_time_limit_and_sees_the_callers_variables(tmp_path):
    command = Command(
        words=WORDS,
        environment={"SEEN": "yes"},
        folder=str(tmp_path),
        log=str(tmp_path / "log"),
        timeout_s=None,
    )
    program = f"from reprokit.where.slurm_worker import Command; raise SystemExit({command!r}())"
    environment = {**os.environ, "HIDDEN": "no", "SLURMD_NODENAME": "n1"}
    with subprocess.Popen([sys.executable, "-c", program], env=environment) as job:
        while not (tmp_path / "begun").exists():
            assert job.poll() is None
        os.kill(job.pid, signal.SIGUSR2)
    assert job.returncode == 7
    assert (tmp_path / "log").read_text().split() == ["--node", "n1", "yes"]


@pytest.mark.parametrize(
    ("state", "going"),
    [
        ("PENDING", Going.QUEUED),
        ("COMPLETING", Going.RUNNING),
        ("FAILED", Going.ENDED),
        ("CANCELLED", Going.STOPPED),
        ("NODE_FAIL", Going.LOST),
        ("TIMEOUT", Going.TIMED_OUT),
    ],
)
def test_the_states_of_slurm_are_told_apart(state, going):
    assert slurm._standing(["7_0", state, "n1", "None"]).going is going


def test_what_slurm_has_forgotten_is_not_taken_for_running():
    assert slurm._standing(None).going is Going.UNKNOWN


def test_a_setting_that_slurm_is_not_told_is_refused_by_name():
    with pytest.raises(SchedulerError, match=r"Slurm is not told 'nodes' by this tool"):
        slurm.SlurmPlace({"nodes": "4"}, folder=Path("unused"))
