"""What the launcher of ranks says of one that died or hangs, from where each of them is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from reprokit.runtime import launch_ranks, rank_status
from reprokit.runtime.launch_ranks import _RankFailedError, _Watch
from reprokit.runtime.rank_settings import LOST_PEER, RankSettings
from reprokit.runtime.rank_status import StatusWriter

SLEEP = "import time; time.sleep(60)"


@pytest.fixture
def started():
    """Starts processes in place of ranks, one a program; none of them is left."""
    processes = []

    def start(*programs):
        processes.extend(subprocess.Popen([sys.executable, "-S", "-c", program]) for program in programs)
        return processes

    yield start
    for process in processes:
        process.kill()
        process.wait()


def come_to(meeting, rank, *names, leave_last=False):
    """Have a rank come to collectives of update 3, one after the other; it stays in the last one."""
    writer = StatusWriter(meeting, rank=rank)
    for number, name in enumerate(names, start=1):
        inside = writer.waiting(name, update=3)
        inside.__enter__()
        if number < len(names) or leave_last:
            inside.__exit__(None, None, None)


def fault(processes, meeting, *, timeout_s=0.5):
    settings = RankSettings(world_size=len(processes), timeout_s=timeout_s)
    with pytest.raises(_RankFailedError) as caught:
        _Watch(processes, settings, meeting).until_all_ended()
    return str(caught.value)


def test_the_status_of_a_rank_is_read_as_it_was_written(tmp_path):
    assert rank_status.read(tmp_path, rank=0).number == 0
    come_to(tmp_path, 0, "start", "gradients")
    found = rank_status.read(tmp_path, rank=0)
    assert (found.number, found.place, found.before, found.waiting) == (
        2,
        "gradients of update 3",
        "start",
        True,
    )


def test_ranks_that_all_end_well_have_no_fault(started, tmp_path):
    _Watch(started("", ""), RankSettings(world_size=2), tmp_path).until_all_ended()


def test_a_rank_that_a_signal_ended_is_named_with_its_place(started, tmp_path):
    come_to(tmp_path, 1, "start", "gradients")
    processes = started(SLEEP, SLEEP)
    processes[1].send_signal(signal.SIGKILL)
    assert fault(processes, tmp_path) == "rank 1 was ended by SIGKILL at gradients of update 3"


def test_the_rank_that_lost_another_one_is_not_the_reason(started, tmp_path):
    processes = started(f"raise SystemExit({LOST_PEER})", "import time; time.sleep(1); raise SystemExit(4)")
    assert fault(processes, tmp_path, timeout_s=30) == "rank 1 ended with exit code 4"


def test_a_rank_left_over_when_the_others_lost_it_hangs(started, tmp_path, monkeypatch):
    monkeypatch.setattr(launch_ranks, "_GRACE_S", 0.3)
    processes = started(f"raise SystemExit({LOST_PEER})", SLEEP)
    assert fault(processes, tmp_path, timeout_s=30) == "rank 1 hangs before it met the others"


def test_the_rank_that_others_wait_for_is_named(started, tmp_path):
    come_to(tmp_path, 0, "start", "gradients")
    come_to(tmp_path, 1, "start", leave_last=True)
    come_to(tmp_path, 2, "start", "gradients")
    found = fault(started(SLEEP, SLEEP, SLEEP), tmp_path)
    assert found.startswith("rank 1 hangs after start: ranks 0, 2 waited ")
    assert found.endswith("s at gradients of update 3")


def test_a_rank_that_is_stopped_inside_a_collective_is_named(started, tmp_path):
    for rank in (0, 1):
        come_to(tmp_path, rank, "start", "gradients")
    processes = started(SLEEP, SLEEP)
    os.kill(processes[0].pid, signal.SIGSTOP)
    found = fault(processes, tmp_path)
    assert found.startswith("rank 0 hangs at gradients of update 3 (stopped by a signal): rank 1 waited ")


def test_ranks_that_wait_for_each_other_are_all_named(started, tmp_path):
    for rank in (0, 1):
        come_to(tmp_path, rank, "start", "gradients")
    assert "ranks 0, 1 waited" in fault(started(SLEEP, SLEEP), tmp_path)


def test_a_rank_that_computes_is_waited_for_after_the_others_ended(started, tmp_path):
    busy = "import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass"
    _Watch(started("", busy), RankSettings(world_size=2, timeout_s=0.5), tmp_path).until_all_ended()


def test_a_rank_that_does_nothing_after_the_others_ended_hangs(started, tmp_path):
    come_to(tmp_path, 1, "start", "end", leave_last=True)
    began = time.monotonic()
    assert fault(started("", SLEEP), tmp_path) == "rank 1 hangs after end: the others have ended"
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("start", "gradients"), ("start", "measures")),
        (("start", "gradients"), ("start", "measures", "gradients")),
    ],
    ids=["in it", "one ahead"],
)
def test_ranks_in_other_collectives_are_told_at_once(started, tmp_path, one, other):
    come_to(tmp_path, 0, *one)
    come_to(tmp_path, 1, *other)
    found = fault(started(SLEEP, SLEEP), tmp_path, timeout_s=30)
    assert found.startswith("rank 1 came to measures of update 3 where rank 0 came to gradients of update 3")
