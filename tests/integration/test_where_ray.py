"""What only Ray does: tasks have an owner, and the head node may be gone, with all that the cluster knows."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from reprokit import runs
from support import places
from support.places import UsedPlace, begun, record_of, sweep_of
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
        within(120, lambda: not processes_in(theirs.root, "reprokit"))
        outcomes = [record_of(one).get("outcome") for one in run_folders(theirs.root)]
    # That of the head's own machine had no one left to close it.
    assert "machine_lost" in outcomes
    assert set(outcomes) <= {"machine_lost", None}


def test_what_waits_is_begun_without_the_tool_and_then_nothing_stays_on_the_cluster(tmp_path):
    theirs = places.repository(tmp_path / "theirs")
    (theirs.root / "slow").touch()
    with places.opened("ray") as ray:
        tool = ray.sweep(theirs.root, "train", "--seeds", "1,2,3,4")
        tool.wait_until(lambda: begun(theirs.root, 2))
        tool.kill()
        assert len(owners_on(ray)) == 1
        (theirs.root / "slow").unlink()
        within(120, lambda: [runs.read(one).complete for one in run_folders(theirs.root)] == [True] * 4)
        within(120, lambda: not owners_on(ray) and not processes_in(theirs.root, "forks.serve"))
        attach = ("runs", "attach", str(sweep_of(theirs.root)), "--json")
        answer = ray.tool(theirs.root, *attach).answer()
        assert (answer.code, answer.states) == (0, ["complete"] * 4), answer.said
        assert len(run_folders(theirs.root)) == 4, "nothing was begun a second time"
        within(60, lambda: not owners_on(ray))


def test_runs_whose_owner_is_killed_end_and_are_made_again(tmp_path):
    theirs = places.repository(tmp_path / "theirs")
    (theirs.root / "slow").touch()
    with places.opened("ray") as ray:
        tool = ray.sweep(theirs.root, "train", "--seeds", "3,4")
        folders = tool.wait_until(lambda: begun(theirs.root, 2))
        (owner,) = owners_on(ray)
        owner.kill()
        tool.wait_until(lambda: all(record_of(one)["state"] == "finished" for one in folders))
        (theirs.root / "slow").unlink()
        answer = tool.answer()
        within(60, lambda: not owners_on(ray) and not processes_in(theirs.root, "forks.serve"))
    assert (answer.code, answer.states) == (0, ["complete"] * 2), answer.said
    assert [one["attempts"] for one in answer.told["members"]] == [2, 2]
    assert {record_of(one)["outcome"] for one in folders} == {"machine_lost"}


def test_object_stores_that_are_full_are_of_no_account(tmp_path):
    theirs = places.repository(tmp_path / "theirs")
    with places.opened("ray") as ray:
        ray.cluster.say("fill")
        answer = ray.sweep(theirs.root, "train", "--seeds", "1,2,3,4").answer()
    assert (answer.code, answer.states) == (0, ["complete"] * 4), answer.said


def within(seconds: float, condition: Callable[[], bool]) -> None:
    """Wait until something holds; fails when it does not in time."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.5)


def owners_on(ray: UsedPlace) -> list[psutil.Process]:
    """The processes on a cluster that own tasks of ours."""
    found = []
    for process in psutil.Process(ray.cluster.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::Owner"):
                found.append(process)
    return found


def processes_in(root: Path, word: str) -> list[str]:
    """Command lines, with a word in them, of processes that work in a project."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            line = " ".join(process.cmdline())
            if word in line and process.cwd() == str(root):
                found.append(line)
    return found
