"""What only Ray does: its head node may be gone, with all that the cluster knows."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import psutil
import pytest

from reprokit import runs
from support import places
from support.places import begun, record_of, sweep_of
from support.sweep_program import run_folders

#: A cluster, and for every run a process of the tool.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_a_head_node_that_is_gone_is_told_and_the_sweep_goes_on_with_the_next_one(tmp_path):
    theirs = places.repository(tmp_path / "theirs")
    (theirs.root / "slow").touch()
    with places.opened("ray") as ray:
        tool = ray.sweep(theirs.root, "train", "--seeds", "3,4")
        tool.wait_until(lambda: begun(theirs.root, 2))
        attach = ("runs", "attach", str(sweep_of(theirs.root)), "--json")
        ray.cluster.say("head")
        answer = tool.answer()
        assert (answer.code, answer.told) == (3, {}), answer.said
        assert "the head node of the Ray cluster is gone" in answer.said
        assert "reprokit runs attach" in answer.said
        gone = ray.tool(theirs.root, *attach).answer()
        assert (gone.code, "no Ray cluster answers" in gone.said) == (3, True), gone.said
        ray.cluster.say("again")
        (theirs.root / "slow").unlink()
        after = ray.tool(theirs.root, *attach).answer()
    assert (after.code, after.states) == (0, ["complete"] * 2), after.said
    # A run outlives its head: it counts where it came to its end before the sweep was attached again.
    attempts = [one["attempts"] for one in after.told["members"]]
    assert set(attempts) <= {1, 2}
    assert len(run_folders(theirs.root)) == sum(attempts)
    assert all(runs.read(one).complete for one in after.runs(theirs.root))


def test_runs_whose_head_node_stays_gone_end_and_say_why(tmp_path):
    theirs = places.repository(tmp_path / "theirs")
    (theirs.root / "slow").touch()
    with places.opened("ray") as ray:
        tool = ray.sweep(theirs.root, "train", "--seeds", "3,4")
        tool.wait_until(lambda: begun(theirs.root, 2))
        ray.cluster.say("head")
        assert tool.answer().code == 3
        until = time.monotonic() + 120
        while time.monotonic() < until and programs_of(theirs.root):
            time.sleep(1.0)
        assert not programs_of(theirs.root)
        outcomes = [record_of(one).get("outcome") for one in run_folders(theirs.root)]
    # That of the head's own machine had nobody left to close it.
    assert "machine_lost" in outcomes
    assert set(outcomes) <= {"machine_lost", None}


def programs_of(root: Path) -> list[str]:
    """Command lines of processes that work in a project."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            line = " ".join(process.cmdline())
            if str(root) in line and "carry-out" in line:
                found.append(line)
    return found
