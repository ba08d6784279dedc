"""What only Ray does: its head node may be gone, with all that the cluster knows."""

from __future__ import annotations

import pytest

from reprokit import runs
from support import places
from support.places import begun, record_of, sweep_of
from support.sweep_program import run_folders

#: A cluster, and for every run a process of the tool.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_a_head_node_that_is_gone_is_told_and_leaves_no_run_that_counts(tmp_path):
    theirs = places.repository(tmp_path / "theirs")
    (theirs.root / "slow").touch()
    with places.opened("ray") as ray:
        tool = ray.sweep(theirs.root, "train", "--seeds", "3,4")
        folders = tool.wait_until(lambda: begun(theirs.root, 2))
        ray.cluster.say("head")
        answer = tool.answer()
        assert answer.code == 3, answer.said
        assert "Ray" in answer.said
        tried = ray.tool(theirs.root, "runs", "attach", str(sweep_of(theirs.root)), "--json").answer()
        assert (tried.code, "no Ray cluster answers" in tried.said) == (3, True), tried.said
    assert [record_of(one)["outcome"] for one in folders] == ["machine_lost"] * 2
    assert not any(runs.read(one).complete for one in run_folders(theirs.root))
    (theirs.root / "slow").unlink()
    with places.opened("ray") as ray:
        words = ("train", "--seeds", "3,4")
        after = ray.sweep(theirs.root, *words).answer()
    assert (after.code, after.states) == (0, ["complete"] * 2), after.said
    assert [one["attempts"] for one in after.told["members"]] == [2, 2]
