"""What only Ray does: its head node may be gone, with all that the cluster knows."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from reprokit import runs, workspace
from support import places
from support.places import begun, record_of, sweep_of
from support.sweep_program import run_folders

#: A cluster, and for every run a process of the tool.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def ended(folders: list[Path], seconds: float = 300.0) -> bool:
    """Whether nobody is at work on these runs, some time after their machines were gone."""
    end = time.monotonic() + seconds
    while any(goes_on(one) for one in folders) and time.monotonic() < end:
        time.sleep(0.5)
    return not any(goes_on(one) for one in folders)


def goes_on(folder: Path) -> bool:
    """Ray may kill what its workers have started: such a run never says that it has ended."""
    record = record_of(folder)
    return record["state"] == "running" and workspace.is_alive(record["owner"])


def test_a_head_node_that_is_gone_is_told_and_the_sweep_goes_on_with_the_next_one(tmp_path):
    theirs = places.repository(tmp_path / "theirs")
    (theirs.root / "slow").touch()
    with places.opened("ray") as ray:
        tool = ray.sweep(theirs.root, "train", "--seeds", "3,4")
        folders = tool.wait_until(lambda: begun(theirs.root, 2))
        attach = ("runs", "attach", str(sweep_of(theirs.root)), "--json")
        ray.cluster.say("head")
        answer = tool.answer()
        assert (answer.code, answer.told) == (3, {}), answer.said
        assert "the head node of the Ray cluster is gone" in answer.said
        assert "reprokit runs attach" in answer.said
        gone = ray.tool(theirs.root, *attach).answer()
        assert (gone.code, "no Ray cluster answers" in gone.said) == (3, True), gone.said
        # A node that hears nothing of its head for a minute ends too, and the runs on it.
        assert ended(folders), [record_of(one)["state"] for one in folders]
        ray.cluster.say("again")
        (theirs.root / "slow").unlink()
        after = ray.tool(theirs.root, *attach).answer()
    assert (after.code, after.states) == (0, ["complete"] * 2), after.said
    assert [one["attempts"] for one in after.told["members"]] == [2, 2]
    assert {record_of(one).get("outcome") for one in folders} <= {"machine_lost", None}
    assert not any(runs.read(one).complete for one in folders)
    assert len(run_folders(theirs.root)) == 4
