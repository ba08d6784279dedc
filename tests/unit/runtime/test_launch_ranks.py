"""What the launcher of ranks says of one that died or hangs, from where each of them is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from reprokit.core.records import STOPPED_EARLY
from reprokit.errors import CannotRunError
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


def come_to_the_end(meeting, *ranks):
    for rank in ranks:
        come_to(meeting, rank, "start", "end", leave_last=True)


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


def test_a_status_that_is_read_while_it_is_written_is_read_again(tmp_path):
    come_to(tmp_path, 0, "start")
    earlier = (tmp_path / "status-0").read_bytes()
    come_to(tmp_path, 0, "start", "gradients")
    later = (tmp_path / "status-0").read_bytes()
    (tmp_path / "status-0").write_bytes(later[:30] + earlier[30:])
    with (tmp_path / "status-0").open("r+b") as file:
        written = threading.Timer(0.1, os.pwrite, [file.fileno(), later, 0])
        written.start()
        assert rank_status.read(tmp_path, rank=0).place == "gradients of update 3"
        written.join()


def test_a_status_that_no_rank_wrote_is_no_status(tmp_path, monkeypatch):
    monkeypatch.setattr(rank_status, "_MOST_READS", 3)
    (tmp_path / "status-0").write_bytes(b"something else")
    with pytest.raises(CannotRunError, match="the status of rank 0 cannot be read"):
        rank_status.read(tmp_path, rank=0)


def test_the_code_of_a_rank_that_ended_tells_its_own_end_from_that_of_the_watcher(started, tmp_path):
    processes = started(SLEEP, SLEEP)
    processes[0].send_signal(signal.SIGKILL)
    with pytest.raises(_RankFailedError) as caught:
        _Watch(processes, RankSettings(world_size=2), tmp_path).until_all_ended()
    assert caught.value.codes == {0: -signal.SIGKILL}
    come_to(tmp_path, 1, "start")
    with pytest.raises(_RankFailedError) as caught:
        _Watch(processes[1:] * 2, RankSettings(world_size=2, timeout_s=0.3), tmp_path).until_all_ended()
    assert caught.value.codes == {}


def test_ranks_that_all_end_well_have_no_fault(started, tmp_path):
    come_to_the_end(tmp_path, 0, 1)
    _Watch(started("", ""), RankSettings(world_size=2), tmp_path).until_all_ended()


def test_a_rank_that_a_signal_ended_is_named_with_its_place(started, tmp_path):
    come_to(tmp_path, 1, "start", "gradients")
    processes = started(SLEEP, SLEEP)
    processes[1].send_signal(signal.SIGKILL)
    assert fault(processes, tmp_path) == "rank 1 was ended by SIGKILL at gradients of update 3"


def test_a_rank_that_ends_with_an_error_of_its_own_says_which(started, tmp_path):
    come_to(tmp_path, 0, "start", "gradients")
    come_to(tmp_path, 1, "start", leave_last=True)
    rank_status.tell_error(tmp_path, rank=1, error="the disk is full")
    told = fault(started(SLEEP, "raise SystemExit(3)"), tmp_path, timeout_s=30)
    assert told == "rank 1 ended with exit code 3 after start: the disk is full"


def test_the_rank_that_lost_another_one_is_not_the_reason(started, tmp_path):
    come_to(tmp_path, 0, "start", "gradients")
    processes = started(f"raise SystemExit({LOST_PEER})", "import time; time.sleep(1); raise SystemExit(4)")
    assert fault(processes, tmp_path, timeout_s=30) == "rank 1 ended with exit code 4"


def test_a_rank_left_over_when_the_others_lost_it_hangs(started, tmp_path, monkeypatch):
    monkeypatch.setattr(launch_ranks, "_GRACE_S", 0.3)
    come_to(tmp_path, 0, "start")
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


@pytest.mark.parametrize("code", [0, STOPPED_EARLY, LOST_PEER])
def test_a_rank_that_leaves_before_the_end_is_named_whatever_its_exit_code(started, tmp_path, code):
    come_to(tmp_path, 0, "start", "gradients")
    come_to(tmp_path, 1, "start", "gradients", leave_last=True)
    found = fault(started(SLEEP, f"raise SystemExit({code})"), tmp_path, timeout_s=30)
    assert found.startswith(f"rank 1 ended with exit code {code} after gradients of update 3")
    assert found.endswith(", before the end of the training") == (code != LOST_PEER)


def test_ranks_that_all_leave_before_the_end_are_all_named(started, tmp_path):
    for rank in (0, 1):
        come_to(tmp_path, rank, "start", "gradients", leave_last=True)
    found = fault(started("import time; time.sleep(0.5)", "import time; time.sleep(0.5)"), tmp_path)
    assert "ended with exit code 0 after gradients of update 3, before the end of the training" in found


def test_ranks_that_are_all_stopped_outside_a_collective_are_named(started, tmp_path):
    come_to(tmp_path, 0, "start", "gradients", leave_last=True)
    processes = started(SLEEP, SLEEP)
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
    assert fault(processes, tmp_path, timeout_s=1) == (
        "rank 0 hangs after gradients of update 3 (stopped by a signal); "
        "rank 1 hangs before it met the others (stopped by a signal): no processor time used in 1 s; "
        "raise `ranks.timeout_s` where a rank only waits for so long"
    )


def test_a_rank_that_only_looks_for_a_file_now_and_then_hangs(started, tmp_path):
    looks = "import os, time\nwhile not os.path.exists('/no/such'): time.sleep(0.2)"
    assert "rank 0 hangs before it met the others: no processor" in fault(
        started(looks), tmp_path, timeout_s=6
    )


def test_a_rank_computes_where_a_process_below_it_does(started, tmp_path):
    come_to_the_end(tmp_path, 0)
    below = "import time; end = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass"
    rank = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {below!r}])"
    _Watch(started(rank), RankSettings(timeout_s=0.5), tmp_path).until_all_ended()


def test_ranks_do_not_hang_while_their_watcher_stood_still_too(started, tmp_path):
    come_to(tmp_path, 0, "start", "gradients")
    come_to(tmp_path, 1, "start", leave_last=True)
    watch = _Watch(started(SLEEP, SLEEP), RankSettings(world_size=2, timeout_s=5), tmp_path)
    watch._tick_s -= 100
    watch._notice_stand_still()
    where = [
        replace(rank_status.read(tmp_path, rank=rank), since_s=time.monotonic() - 100) for rank in (0, 1)
    ]
    watch._must_not_wait_long([0, 1], where)  # since it continues, no one has waited for 5 s
    watch._awake_s -= 10
    with pytest.raises(_RankFailedError, match="rank 1 hangs after start: rank 0 waited 10 s"):
        watch._must_not_wait_long([0, 1], where)


def test_a_rank_that_computes_is_waited_for_after_the_others_ended(started, tmp_path):
    come_to_the_end(tmp_path, 0, 1)
    busy = "import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass"
    _Watch(started("", busy), RankSettings(world_size=2, timeout_s=0.5), tmp_path).until_all_ended()


def test_a_rank_that_does_nothing_after_the_others_ended_hangs(started, tmp_path):
    come_to_the_end(tmp_path, 0, 1)
    began = time.monotonic()
    told = fault(started("", SLEEP), tmp_path)
    assert told.startswith("rank 1 hangs after end: no processor time used in 0.5 s")
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
