"""Machines that do not compute alike: a sweep over them is refused, split by kind, or marked as mixed.

An engine of processes stands in for the cluster. Machine ``two`` says it has another CPU than ``one``, and
the program computes other numbers there.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprokit.errors import CannotRunError, GoldenError
from reprokit.features.machines import place as where
from reprokit.features.sweeps import statistics_html, stats
from reprokit.golden import Promotion
from reprokit.harness import curation
from reprokit.project import Project
from reprokit.reports import sweep_table
from reprokit.runs import sweeps
from support import other_cpu, places
from support.command_recipe import Repository
from support.places import record_of
from support.process_place import ProcessPlace
from support.sweep_program import RECIPE, RecordedSweep, run_folders, swept

pytestmark = pytest.mark.slow  # every run of an engine is a process of the tool

STATISTICAL = "statistical: {metric: return, window: last, margin: 0.5, direction: higher}\n"
PROGRAM = places.PROGRAM.replace(
    "random.seed(seed)", "random.seed(seed + 100 * ('Other CPU' in open('/proc/cpuinfo').read()))"
)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ProcessPlace]:
    """Two machines, of which the second says it has another CPU, opened wherever Ray would be."""
    made = ProcessPlace(machines=("one", "two"), within={"two": other_cpu.named(tmp_path, "Other CPU")})
    monkeypatch.setattr(where, "open_place", lambda *_args, **_more: made)
    yield made
    made.wait()


def repository(tmp_path: Path, rule: str) -> Repository:
    return places.repository(tmp_path / "theirs", PROGRAM, f"{RECIPE}{STATISTICAL}machines: {rule}\n")


def by_node(root: Path) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {"one": [], "two": []}
    for folder in run_folders(root):
        found[record_of(folder)["machine"]["node"]].append(record_of(folder))
    return found


def numbers(root: Path, run: str) -> bytes:
    return (root / "runs" / run / "metrics.jsonl").read_bytes()


def test_a_recipe_that_says_nothing_or_refuse_has_nothing_run_on_a_mixed_set(tmp_path, place):
    theirs = repository(tmp_path, "refuse")
    with pytest.raises(CannotRunError, match="would not compute train alike") as refused:
        swept(theirs.root, on="ray")
    assert "machines: split" in str(refused.value)
    assert run_folders(theirs.root) == []


def test_split_makes_every_seed_on_each_kind_and_compares_each_with_its_own(tmp_path, place):
    theirs = repository(tmp_path, "split")
    answer = swept(theirs.root, seeds="3,4", on="ray")
    assert [str(one.state) for one in answer.members] == ["complete"] * 4
    first, second = dict.fromkeys(one.kind for one in answer.members)
    of = {kind: [one for one in answer.members if one.kind == kind] for kind in (first, second)}
    assert [[one.seed for one in members] for members in of.values()] == [[3, 4], [3, 4]]
    for members in of.values():
        nodes = {record_of(theirs.root / "runs" / one.run)["machine"]["node"] for one in members}
        assert len(nodes) == 1, "each kind has its own machine"
    assert numbers(theirs.root, of[first][0].run) != numbers(theirs.root, of[second][0].run)
    assert len({one.identity for one in answer.members}) == 4
    assert not sweeps.is_mixed(sweeps.read(answer.path))

    project = Project.around(theirs.root)
    found = stats.statistics([str(answer.path)], project=project, windows=["last"])
    assert [one.group.name for one in found.groups] == [f"train on {sweeps.short_kind(k)}" for k in of]
    assert found.between == (), "kinds are not compared with each other"
    alone = stats.statistics(["train"], project=project, windows=["last"]).groups[0].group
    assert len(alone.members) == 2
    assert all("it was made on different machines" in one.reason for one in alone.left_out)
    with pytest.raises(GoldenError, match="an ensemble is of one of them"):
        curation.promote_sweep(
            "train", project=project, promotion=Promotion(reason="r", created_at="2026-11-23"), min_seeds=10
        )
    with pytest.raises(GoldenError, match=r"too few seeds for an ensemble.*got 2"):
        curation.promote_sweep(
            "train",
            project=project,
            promotion=Promotion(reason="r", created_at="2026-11-23"),
            min_seeds=10,
            which=curation.WhichSweep(kind=first[7:15]),
        )
    again = swept(theirs.root, seeds="3,4", on="ray")
    assert again.actions == ("reuse",) * 4


def test_marked_runs_go_anywhere_say_so_and_are_never_promoted(tmp_path, place):
    theirs, told = repository(tmp_path, "mark"), RecordedSweep()
    answer = swept(theirs.root, seeds="3,4,6", on="ray", told=told)
    assert [str(one.state) for one in answer.members] == ["complete"] * 3
    nodes = by_node(theirs.root)
    assert len(nodes["one"]) + len(nodes["two"]) == 3
    assert nodes["one"], nodes["two"]
    assert any(note.startswith("train: MIXED") for note in told.notes)

    for one in answer.members:
        record = record_of(theirs.root / "runs" / one.run)
        assert (record["machine"]["set"], record["machine"]["fingerprint"]) == ("mixed", one.kind)
    assert len({one.kind for one in answer.members}) == 2
    recorded = json.loads(answer.path.read_text())
    assert (recorded["mixed"], [row["mixed"] for row in recorded["members"]]) == (True, [True] * 3)
    lines = sweep_table.sweep_lines(
        answer.members, answer.actions, name=answer.name, path=answer.path, dry_run=False
    )
    assert any("MIXED" in line and "No golden" in line for line in lines)
    project = Project.around(theirs.root)
    found = stats.statistics([str(answer.path)], project=project, windows=["last"])
    assert found.groups[0].group.is_mixed
    assert len(found.groups[0].group.members) == 3
    page = statistics_html.sweep_to_html(answer, found, {})
    assert "finished, mixed" in page
    assert "No golden and no ensemble can be promoted" in page

    with pytest.raises(GoldenError, match="the sweep is mixed"):
        curation.promote_sweep(
            "train", project=project, promotion=Promotion(reason="r", created_at="2026-11-23"), min_seeds=10
        )
    folders = [theirs.root / "runs" / answer.members[0].run] * 2
    with pytest.raises(GoldenError, match="machines of several kinds"):
        curation.promote(folders, project=project, promotion=Promotion(reason="r", created_at="2026-11-23"))
    assert swept(theirs.root, seeds="3,4,6", on="ray").actions == ("reuse",) * 3


def test_a_marked_run_counts_in_no_sweep_over_machines_of_one_kind(tmp_path, place):
    theirs = repository(tmp_path, "mark")
    swept(theirs.root, seeds="3,", on="ray")
    place.names = ("one",)
    alone = swept(theirs.root, seeds="3,", on="ray")
    assert (alone.actions, [str(one.state) for one in alone.members]) == (("run",), ["complete"])
    assert not alone.members[0].mixed


def test_a_lost_run_that_is_tried_again_on_another_kind_is_not_held_against_the_first(tmp_path, place):
    """Other numbers there are what the mark is for; on one kind they would be nondeterminism."""
    theirs = repository(tmp_path, "mark")
    (theirs.root / "slow").touch()
    answers = []
    tool = threading.Thread(target=lambda: answers.append(swept(theirs.root, seeds="3,", on="ray")))
    tool.start()
    end = time.monotonic() + 300
    while not places.begun(theirs.root, 1):
        assert time.monotonic() < end, "the run does not begin"
        time.sleep(0.1)
    (handle,) = [name for name, (task, _) in place.started.items() if "seed3" in task.name]
    first = place.went_to[-1]
    (theirs.root / "slow").unlink()
    place.lose(handle)
    tool.join(400)
    (answer,) = answers
    assert [str(one.state) for one in answer.members] == ["complete"]
    nodes = [record_of(folder)["machine"]["node"] for folder in run_folders(theirs.root)]
    assert len(nodes) == 2
    assert nodes[0] == first
    assert nodes[1] != first
