"""The line that anyone can type again asks for all that was judged."""

from pathlib import Path

import pytest

from reprokit.core.run_record import RunRecord
from reprokit.harness.reproduce import rerun_line
from reprokit.harness.running.again import words_of
from reprokit.project import Project
from reprokit.request import Request

RECORD = RunRecord(recipe="x", seed=7, backend_asked="local")


def test_a_judgement_of_resuming_is_asked_for_again_at_the_same_place():
    line = rerun_line(RECORD, stopped=RunRecord(stop_at=16384))
    assert line == "make reproduce RECIPE=x SEED=7 'ARGS=--backend local --resume --stop-at 16384'"


def test_where_nobody_knows_the_place_it_is_drawn_again():
    line = rerun_line(RunRecord(recipe="x", seed=7), stopped=RunRecord())
    assert line == "make reproduce RECIPE=x SEED=7 ARGS=--resume"


def test_without_it_nothing_is_added():
    assert rerun_line(RECORD) == "make reproduce RECIPE=x SEED=7 'ARGS=--backend local'"


def test_folders_that_are_not_the_default_ones_are_asked_for_again():
    line = rerun_line(RunRecord(recipe="x", seed=7, folders_asked=("--golden", "g")))
    assert line == "make reproduce RECIPE=x SEED=7 'ARGS=--golden g'"
    plain = rerun_line(RunRecord(plain_command=("python", "t.py"), seed=7, folders_asked=("--runs-dir", "r")))
    assert plain == "reprokit reproduce --seed 7 --runs-dir r -- python t.py"


def test_without_the_makefile_the_verb_itself_is_named():
    line = rerun_line(RECORD._replace(has_make=False))
    assert line == "reprokit reproduce x --seed 7 --backend local"


def test_what_a_gate_judged_is_repeated_by_the_gate():
    stopped = RunRecord(stop_at=16384)
    line = rerun_line(RECORD, gate=True, stopped=stopped, varied=True, num_runs=3)
    options = "--backend local --repeats 3 --resume --stop-at 16384 --vary"
    assert line == f"reprokit verify x --seed 7 {options}"
    both = rerun_line(RECORD, gate=True, statistical=True)
    assert both == "reprokit verify x --seed 7 --statistical --backend local"


def test_a_project_names_only_the_folders_that_are_elsewhere(tmp_path):
    assert Project.around(tmp_path).options == ()
    assert Project.around(tmp_path, golden_dir=tmp_path / "golden").options == ()
    elsewhere = Project.around(tmp_path, golden_dir=tmp_path / "g" / "h", reports_dir=Path("/r"))
    assert elsewhere.options == ("--golden", "g/h", "--reports-dir", "/r")


def test_make_is_suggested_only_where_its_makefile_calls_the_tool(project, tmp_path):
    assert Project.around(project).has_make
    assert not Project.around(tmp_path).has_make
    (tmp_path / "Makefile").write_text("reproduce:\n\t./mine.sh\n")
    assert not Project.around(tmp_path).has_make


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (RECORD._replace(has_make=False), "reprokit reproduce x --seed 7 --backend local --repeats 5"),
        (
            RunRecord(plain_command=("python", "t.py"), seed=7),
            "reprokit reproduce --seed 7 --repeats 5 -- python t.py",
        ),
    ],
)
def test_as_many_runs_are_asked_for_again(record, line):
    assert rerun_line(record, num_runs=5) == line


def test_all_that_changes_what_is_run_is_asked_for_again(tmp_path):
    request = Request(
        backend="local",
        overrides=("platform=xla-cpu", "training.gamma=0.9"),
        ignore=("time/*",),
        outputs=("*.pt",),
    )
    project = Project.around(tmp_path, runs_dir=tmp_path / "r")
    asked = "--backend local --set training.gamma=0.9 --platform xla-cpu --ignore-metric time/* --output *.pt"
    assert words_of(request, project=project) == [*asked.split(), "--runs-dir", "r"]
    assert words_of(Request(), project=Project.around(tmp_path)) == []
