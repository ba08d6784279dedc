"""What a job of Slurm does with the command that it carries out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.errors import SchedulerError
from reprokit.features.machines import slurm
from reprokit.features.machines.place import TaskState
from reprokit.features.machines.slurm_worker import SlurmCommand

#: Says what it was given, and ends with 7 where its time is up; asked whether it would resume, it would.
WORDS = (
    "sh",
    "-c",
    """case "$*" in *--ask-resume*) exit 0;; esac
    trap "exit 7" USR1; echo "$@" "$SEEN" "$HIDDEN"; : > begun; sleep 60 & wait""",
    "sh",
)
#: In place of Slurm's: says what it was asked, and ends the job as Slurm does.
SCONTROL = """\
#!/bin/sh
echo "$@" > asked
kill -KILL $PPID
"""


def out_of_time(tmp_path, *, may_be_requeued):
    """A job whose time limit is near; its exit code."""
    command = SlurmCommand(
        words=WORDS,
        environment={"SEEN": "yes"},
        folder=str(tmp_path),
        log=str(tmp_path / "log"),
        may_be_requeued=may_be_requeued,
    )
    program = (
        f"from reprokit.features.machines.slurm_worker import SlurmCommand; raise SystemExit({command!r}())"
    )
    (tmp_path / "scontrol").write_text(SCONTROL)
    (tmp_path / "scontrol").chmod(0o755)
    environment = {
        **os.environ,
        "HIDDEN": "no",
        "SLURMD_NODENAME": "n1",
        "SLURM_JOB_ID": "17",
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
    }
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, start_new_session=True
    ) as job:
        while not (tmp_path / "begun").exists():
            assert job.poll() is None
        os.killpg(job.pid, signal.SIGUSR2)  # as Slurm does: to every process of the job
    return job.returncode


def test_a_command_is_asked_to_end_before_the_time_limit_and_sees_the_callers_variables(tmp_path):
    assert out_of_time(tmp_path, may_be_requeued=False) == 7
    assert (tmp_path / "log").read_text().split() == ["--node", "n1", "yes"]
    assert not (tmp_path / "asked").exists()


def test_a_run_that_would_come_further_is_requeued(tmp_path):
    assert out_of_time(tmp_path, may_be_requeued=True) == -signal.SIGKILL
    assert (tmp_path / "asked").read_text() == "requeue 17\n"


@pytest.mark.parametrize(
    ("state", "going"),
    [
        ("PENDING", TaskState.QUEUED),
        ("COMPLETING", TaskState.RUNNING),
        ("FAILED", TaskState.ENDED),
        ("CANCELLED", TaskState.STOPPED),
        ("NODE_FAIL", TaskState.LOST),
        ("TIMEOUT", TaskState.TIMED_OUT),
    ],
)
def test_the_states_of_slurm_are_told_apart(state, going):
    assert slurm._standing(["7_0", state, "n1", "None"]).going is going


def test_what_slurm_has_forgotten_is_not_taken_for_running():
    assert slurm._standing(None).going is TaskState.UNKNOWN


def test_a_setting_that_slurm_is_not_told_is_refused_by_name():
    with pytest.raises(SchedulerError, match=r"--slurm does not take 'nodes'"):
        slurm.SlurmPlace({"nodes": "4"}, folder=Path("unused"))
