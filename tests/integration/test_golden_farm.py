"""Goldens recorded on every kind of CPU of an engine, and recipes compared with them there.

An engine of processes stands in for the cluster. Machine ``two`` says it has another CPU than ``one``; it
computes as before, unless a file ``differs`` makes the program of these tests read that name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprokit import golden, harness
from reprokit.errors import GoldenError
from reprokit.features.machines import farm, machine_matrix, machines
from reprokit.features.machines import place as where
from reprokit.golden import Promotion
from reprokit.harness import Request, gate_code
from reprokit.project import Project
from support import other_cpu, places
from support.command_recipe import Repository
from support.process_place import ProcessPlace
from support.sweep_program import RECIPE, RecordedSweep, run_folders

pytestmark = pytest.mark.slow  # every run of an engine is a process of the tool

NOW = "2026-11-23T10:00:00+00:00"
#: Other numbers on that CPU where a file ``differs/cpu`` is, and each time where ``differs/clock`` is.
PROGRAM = places.PROGRAM.replace(
    "random.seed(seed)",
    """\
differs = f"{run_dir}/../../../../differs"
other = os.path.exists(f"{differs}/cpu") and "Other CPU" in open("/proc/cpuinfo").read()
random.seed(seed + 100 * other + (time.time_ns() if os.path.exists(f"{differs}/clock") else 0))""",
)


@pytest.fixture
def theirs(tmp_path: Path) -> Repository:
    made = places.repository(tmp_path / "theirs", PROGRAM, RECIPE.replace("[3, 4, 6]", "[3, 4]"))
    (made.root / "differs").mkdir()
    return made


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ProcessPlace]:
    made = ProcessPlace(machines=("one", "two"), within={"two": other_cpu.named(tmp_path, "Other CPU")})
    monkeypatch.setattr(where, "open_place", lambda *_args, **_more: made)
    yield made
    made.wait()


def recorded(root: Path, *, reason: str = "first", **asked):
    return farm.record_goldens(
        harness.SweepAsked(names=["train"], on="ray", **asked),
        Request(backend="local"),
        session=harness.SweepSession(project=Project.around(root), progress=RecordedSweep()),
        promotion=Promotion(reason=reason, created_at=NOW),
    )


def verified(root: Path, **asked):
    request = Request(backend="local", **asked)
    return farm.verify_on(
        harness.SweepAsked(names=["train"], on="ray"),
        request,
        session=harness.SweepSession(project=Project.around(root), progress=RecordedSweep()),
    )


def verdicts(rows) -> list[tuple[int | None, str]]:
    return [(row.seed, row.verdict) for row in rows]


def test_each_kind_of_cpu_has_a_golden_of_its_own_and_is_held_against_it(theirs, place):
    (theirs.root / "differs" / "cpu").touch()
    rows = recorded(theirs.root)
    assert verdicts(rows) == [(3, "RECORDED"), (4, "RECORDED")] * 2
    assert gate_code(rows) == 0
    found = golden.list_all(theirs.root / "golden")
    assert [row.problem for row in found] == [""] * 4
    cpus = {row.platform for row in found}
    assert len(cpus) == 2
    assert all(cpu.startswith("cpu-x86_64/on-") for cpu in cpus)
    assert any("/on-other-cpu-" in cpu for cpu in cpus)
    told = golden.load(rows[0].folder).document
    assert (told["reason"], told["runs_agreed"], told["cpu"]) == ("first", 2, rows[0].cpu)
    assert told["machines"][0]["cpu"] == rows[0].cpu
    assert {record["where"] for record in map(places.record_of, run_folders(theirs.root))} == {"ray"}
    theirs.commit()

    judged = verified(theirs.root)
    assert verdicts(judged) == [(3, "REPRODUCED"), (4, "REPRODUCED")] * 2
    assert {row.report.golden for row in judged} == {str(row.path) for row in found}
    assert all((row.folder / "report.html").is_file() for row in judged)
    lines = list(machine_matrix.lines(judged))
    assert [line.split() for line in lines[1:]] == [
        ["train", seed, "REPRODUCED", "REPRODUCED"] for seed in ("3", "4")
    ]
    assert "REPRODUCED" in machine_matrix.to_html(judged, exit_code=0)

    (theirs.root / "differs" / "cpu").unlink()  # now the other CPU computes what this one does
    drifted = verified(theirs.root, seed=3)
    assert {row.cpu.partition("-")[0]: row.verdict for row in drifted}["other"] == "REGRESSION"
    assert sorted(row.verdict for row in drifted) == ["REGRESSION", "REPRODUCED"]
    assert gate_code(drifted) == 1
    assert any("REGRESSION" in line and "other-cpu" in line for line in machine_matrix.lines(drifted))


def test_two_runs_that_differ_are_no_golden_and_no_pass(theirs, place):
    place.names = ("one",)
    (theirs.root / "differs" / "clock").touch()
    rows = recorded(theirs.root, seeds="3,")
    assert (verdicts(rows), gate_code(rows)) == ([(3, "DIFFER")], 1)
    assert golden.list_all(theirs.root / "golden") == []
    judged = verified(theirs.root, seed=3)
    assert (verdicts(judged), gate_code(judged)) == ([(3, "NONDETERMINISTIC")], 1)


def test_a_busy_machine_is_a_row_of_its_own_and_never_a_pass(theirs, place, monkeypatch):
    monkeypatch.setattr(machines, "_BUSY_S", 1.0)
    place.busy = ("two",)
    rows = recorded(theirs.root, seeds="3,")
    assert verdicts(rows) == [(3, "RECORDED"), (None, "NOT_ASKED")]
    assert gate_code(rows) == 4
    assert any(line.startswith("two: NOT_ASKED") for line in machine_matrix.lines(rows))
    assert json.loads(json.dumps(machine_matrix.data(rows)))[1]["machines"] == ["two"]


def test_a_run_that_does_not_finish_leaves_no_golden(theirs, place):
    place.names = ("one",)
    rows = recorded(theirs.root, seeds="5,")  # its program fails
    assert (verdicts(rows), gate_code(rows)) == ([(5, "NOT_RUN")], 3)
    assert golden.list_all(theirs.root / "golden") == []


def test_nothing_is_recorded_without_a_reason(theirs, place):
    with pytest.raises(GoldenError, match="needs a reason"):
        recorded(theirs.root, reason=" ")
    assert place.went_to == []
