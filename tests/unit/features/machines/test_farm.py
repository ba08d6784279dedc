"""What becomes of the runs that a cluster made on each kind of CPU: one golden, or none, and a row each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import checks, golden
from reprokit.errors import CannotJudgeError, MissingExtraError, UsageError
from reprokit.features.machines import farm, machine_matrix, options
from reprokit.features.machines.every_kind import MachineCell
from reprokit.features.machines.farm import record_goldens, verify_on
from reprokit.features.machines.machines import MachineKind
from reprokit.golden import Promotion
from reprokit.harness import Request, SweepAsked, SweepSession, gate_code
from reprokit.harness.sweeping.groups import SweepGroup
from reprokit.recipes import Program
from support import fake_backend
from support.sweep_program import RecordedSweep

NAME = "cartpole_baseline"


@pytest.fixture
def cell(recipe) -> Callable[..., MachineCell]:
    """The runs of seed 42 on one kind of CPU."""

    def made(cpu: str, folders: tuple[Path, ...], problem: str = "") -> MachineCell:
        kind = MachineKind(
            surroundings=f"sha256:{cpu}", cpu=cpu, name=cpu, machines=(f"n-{cpu}",), words=cpu.upper()
        )
        group = SweepGroup(recipe=recipe, request=Request(), seeds=(42,), host={})
        return MachineCell(group=group, seed=42, kind=kind, folders=folders, problem=problem)

    return made


@pytest.fixture
def cluster(monkeypatch, recipe):
    """Says what a cluster made; the rows of the checklist are judged elsewhere."""
    monkeypatch.setattr(farm.recipes, "load", lambda *_args, **_more: recipe)
    monkeypatch.setattr(checks, "run_all", lambda _evidence: ())
    monkeypatch.setitem(fake_backend.INSIDE, "numerics", {"profile": "portable", "probe": {}})

    def made(*cells: MachineCell, busy: tuple[str, ...] = ()) -> None:
        monkeypatch.setattr(farm, "_made", lambda *_args, **_more: (list(cells), list(busy)))

    return made


def recorded(here, **more):
    promotion = Promotion(reason="first", created_at="2026-11-23T10:00:00+00:00", allow_dirty=True)
    asked = SweepAsked(names=[NAME], **{"on": "ray", **more})
    return record_goldens(
        asked, Request(), session=SweepSession(project=here, progress=RecordedSweep()), promotion=promotion
    )


def verdicts(rows) -> list[tuple[str, str]]:
    return [(row.cpu, row.verdict) for row in rows]


def test_a_portable_recipe_has_one_golden_on_which_all_cpus_agree(make, programs, here, cell, cluster):
    train = programs["training"]
    cluster(*(cell(cpu, make.of_recipe(train(), train())) for cpu in ("a", "b")))
    rows = recorded(here)
    assert (verdicts(rows), gate_code(rows)) == ([("a", "RECORDED"), ("b", "RECORDED")], 0)
    (found,) = golden.list_all(here.golden_dir)
    assert (found.platform, found.runs_agreed, found.problem) == ("cpu-x86_64", 4, "")
    machines = golden.load(found.path).document["machines"]
    assert machines == [{"cpu": "a", "is": "A", "runs": 2}, {"cpu": "b", "is": "B", "runs": 2}]


def test_where_one_cpu_computes_otherwise_nothing_is_recorded(make, programs, here, cell, cluster):
    train = programs["training"]
    other = make.of_recipe(*[train(loss=lambda step: 2 / step)] * 2)
    cluster(cell("a", make.of_recipe(train(), train())), cell("b", other))
    rows = recorded(here)
    assert (verdicts(rows), gate_code(rows)) == ([("a", "DIFFER"), ("b", "DIFFER")], 1)
    assert "the runs differ" in rows[0].sentence
    assert golden.list_all(here.golden_dir) == []


def test_where_one_cpu_has_no_pair_nothing_is_recorded(make, programs, here, cell, cluster):
    train = programs["training"]
    pair = make.of_recipe(train(), train())
    cluster(cell("a", pair), cell("b", pair[:1], problem="out of memory"))
    rows = recorded(here)
    assert (verdicts(rows), gate_code(rows)) == ([("a", "NOT_RUN"), ("b", "NOT_RUN")], 3)
    assert "b: out of memory" in rows[0].sentence
    assert golden.list_all(here.golden_dir) == []


def test_runs_of_another_lock_are_no_golden_with_equal_numbers_either(make, programs, here, cell, cluster):
    train = programs["training"]
    other = make.of_recipe(train(), train(), lock=b"numpy==2.4.0 --hash=sha256:0\n")
    cluster(cell("a", make.of_recipe(train(), train())), cell("b", other))
    rows = recorded(here)
    assert (verdicts(rows), gate_code(rows)) == ([("a", "NOT_RECORDED"), ("b", "NOT_RECORDED")], 2)
    assert golden.list_all(here.golden_dir) == []


def test_two_runs_on_one_cpu_that_differ_are_told_there_alone(make, programs, here, cell, cluster):
    train = programs["training"]
    pair, odd = make.of_recipe(train(), train()), make.of_recipe(train(), train(loss=lambda step: 2 / step))
    cluster(cell("a", pair), cell("b", odd), busy=("n-c",))
    rows = verify_on(
        SweepAsked(names=[NAME], on="ray"),
        Request(),
        session=SweepSession(project=here, progress=RecordedSweep()),
    )
    assert [row.verdict for row in rows][1:] == ["NONDETERMINISTIC", "NOT_ASKED"]
    assert rows[0].verdict == "NO_GOLDEN"
    assert gate_code(rows) == 1
    assert {row.folder is not None for row in rows[:2]} == {True}


def test_a_busy_machine_alone_is_enough_for_no_pass(make, programs, here, cell, cluster):
    train = programs["training"]
    cluster(cell("a", make.of_recipe(train(), train())), busy=("n-c",))
    rows = recorded(here)
    assert (verdicts(rows), gate_code(rows)) == ([("a", "RECORDED"), ("n-c", "NOT_ASKED")], 4)


def test_nothing_judged_is_no_pass():
    assert gate_code([]) == 4


def test_a_recipe_that_is_watched_is_refused_before_anything_runs(here, cluster, monkeypatch, recipe):
    names = ("command", "variables", "working_dir", "sees", "collect", "volatile", "outputs", "printed")
    program = Program(
        **dict.fromkeys(names, ()), stop_args=None, resume_args=None, network=False, instrument="light"
    )
    monkeypatch.setattr(farm.recipes, "load", lambda *_args, **_more: replace(recipe, program=program))
    with pytest.raises(UsageError, match="a run without the watch"):
        recorded(here)


def test_a_project_whose_recipes_declare_other_platforms_is_not_judged(here, monkeypatch):
    monkeypatch.setattr(farm.recipes, "list_names", lambda _folder: [])
    with pytest.raises(CannotJudgeError, match="no recipe declares this platform"):
        verify_on(
            SweepAsked(names=[], on="ray"),
            Request(),
            session=SweepSession(project=here, progress=RecordedSweep()),
        )


def test_this_machine_is_no_cluster(here, recipe, monkeypatch):
    monkeypatch.setattr(farm.recipes, "load", lambda *_args, **_more: recipe)
    with pytest.raises(UsageError, match="'local' has no machines to choose from"):
        recorded(here, on="local")


def test_the_matrix_has_a_column_a_kind_and_says_each_reason_once(make, programs, here, cell, cluster):
    train = programs["training"]
    cluster(*(cell(cpu, make.of_recipe(train(), train())[:1], "lost <b>") for cpu in ("a", "b")))
    rows = recorded(here)
    head, line, *reasons = machine_matrix.lines(rows)
    assert (head.split(), line.split()) == (["recipe", "seed", "a", "b"], [NAME, "42", "NOT_RUN", "NOT_RUN"])
    assert len(reasons) == 1
    page = machine_matrix.to_html(rows, exit_code=gate_code(rows))
    assert "lost &lt;b&gt;" in page
    assert "0 of 2 cells reproduced, on 2 kinds of CPU; exit code 3" in page


@pytest.mark.parametrize("as_json", [False, True])
def test_without_the_package_that_draws_pages_the_matrix_is_told_all_the_same(
    make, programs, here, cell, cluster, monkeypatch, capsys, as_json
):
    train = programs["training"]
    cluster(cell("a", make.of_recipe(train(), train())))
    monkeypatch.setattr(options, "project_of", lambda _options: here)
    monkeypatch.setattr(options, "request_of", lambda _options: Request())
    monkeypatch.setattr(machine_matrix, "to_html", missing)
    code = options._matrix({"recipes": [NAME], "on": "ray", "as_json": as_json}, {})
    told = capsys.readouterr()
    assert code == 4
    assert "NO_GOLDEN" in told.out
    assert "the page machines.html was left out: Jinja2 is not there" in told.err
    assert not as_json or json.loads(told.out)["page"] is None
    assert not (here.reports_dir / "machines.html").exists()


def missing(*_args, **_more):
    raise MissingExtraError("Jinja2 is not there", fix="install it")
