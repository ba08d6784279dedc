"""What every place keeps that runs are made on: this machine, Ray and Slurm, each real, of two nodes.

The same run folders, words for failures and bytes; Ctrl-C and TERM end what was started and nothing else;
what a killed tool left is found again; what a machine lost is tried again; only a complete attempt counts.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprokit import runs
from support import places
from support.command_recipe import Repository
from support.places import UsedPlace, begun, record_of, sweep_of
from support.sweep_program import run_folders, seeds_of

#: A cluster, and for every run a process of the tool.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module", params=["local", "ray", "slurm"])
def place(request: pytest.FixtureRequest) -> Iterator[UsedPlace]:
    with places.opened(request.param) as found:
        yield found


@pytest.fixture
def theirs(tmp_path: Path) -> Repository:
    return places.repository(tmp_path / "theirs")


def test_runs_have_whole_folders_that_say_where_they_were_made(place, theirs):
    """A program that fails is told in the same words everywhere, and is no loss of a machine."""
    first = place.sweep(theirs.root, "train", "--seeds", "3,5").answer()
    assert (first.code, first.states) == (3, ["complete", "crashed"]), first.said
    assert first.told["members"][1]["message"] == "the program ended with exit code 1: no five"
    assert seeds_of(run_folders(theirs.root)) == [3, 5]
    for folder in run_folders(theirs.root):
        record = record_of(folder)
        assert (record["where"], record["attempt"], len(record["machine"]["id"])) == (place.name, 1, 12)
        assert bool(record["machine"].get("node")) == (place.name != "local")
    again = place.sweep(theirs.root, "train", "--seeds", "3,").answer()
    assert (again.code, [one["action"] for one in again.told["members"]]) == (0, ["reuse"]), again.said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_what_was_started_and_nothing_else(place, theirs, tmp_path, number, code):
    others = places.repository(tmp_path / "others")
    for root in (theirs.root, others.root):
        (root / "slow").touch()
    bystander = place.sweep(others.root, "train", "--seeds", "4,")
    bystander.wait_until(lambda: begun(others.root, 1))
    tool = place.sweep(theirs.root, "train", "--seeds", "3,")
    tool.wait_until(lambda: begun(theirs.root, 1))
    tool.send(number)
    answer = tool.answer()
    assert answer.code == code, answer.said
    (folder,) = run_folders(theirs.root)
    assert (record_of(folder)["state"], record_of(folder)["outcome"]) == ("finished", "interrupted")
    assert not (folder / "COMPLETE").exists()
    (others.root / "slow").unlink()
    assert bystander.answer().states == ["complete"]


def test_what_a_killed_tool_left_running_is_found_again(place, theirs):
    if place.name == "local":
        pytest.skip("here, runs end with their tool: tests/integration/test_sweep_killed.py")
    (theirs.root / "slow").touch()
    tool = place.sweep(theirs.root, "train", "--seeds", "3,4")
    folders = tool.wait_until(lambda: begun(theirs.root, 2))
    tool.kill()
    (theirs.root / "slow").unlink()
    again = place.tool(theirs.root, "runs", "attach", str(sweep_of(theirs.root)), "--json").answer()
    assert (again.code, again.states) == (0, ["complete"] * 2), again.said
    assert run_folders(theirs.root) == folders, "nothing was begun a second time"


def test_a_lost_machine_costs_an_attempt_and_the_sweep_has_the_bytes_of_this_machine(place, theirs):
    if place.name == "local":
        pytest.skip("this machine is not lost while it tests")
    (theirs.root / "slow").touch()
    tool = place.sweep(theirs.root, "train", "--seeds", "3,4")
    folders = tool.wait_until(lambda: begun(theirs.root, 2))
    try:
        place.lose(folders)
        tool.wait_until(lambda: any(record_of(one)["state"] == "finished" for one in folders))
        (theirs.root / "slow").unlink()
        answer = tool.answer()
    finally:
        place.restore()
    assert (answer.code, answer.states) == (0, ["complete"] * 2), answer.said
    assert sorted(one["attempts"] for one in answer.told["members"]) == [1, 2]
    (lost,) = [one for one in run_folders(theirs.root) if not runs.read(one).complete]
    assert (record_of(lost)["outcome"], record_of(lost)["attempt"]) == ("machine_lost", 1)
    here = places.UsedPlace(name="local", python=place.python)
    same = here.sweep(theirs.root, "train", "--seeds", "3,4", "--runs-dir", "here").answer()
    pairs = zip(answer.runs(theirs.root), same.runs(theirs.root, "here"), strict=True)
    for there, alike in pairs:
        assert runs.read(there).complete
        assert (there / "metrics.jsonl").read_bytes() == (alike / "metrics.jsonl").read_bytes()
