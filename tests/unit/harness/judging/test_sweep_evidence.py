"""What sweeps say of a judged run: the row ``several_seeds``, from real run folders to the report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reprokit.harness import Request, audit, judge_again, reproduce
from reprokit.harness.judging.sweep_evidence import runs_of_sweeps, sweep_evidence
from reprokit.project import Project
from reprokit.session import Session
from support.sweep_program import PROGRAM, RECIPE, RecordedSweep, prepare, swept


@pytest.fixture
def here(repository):
    return prepare(repository)


def judged(here, **asked):
    """The row of a report of a pair made side by side, as members of a sweep are; the report, its folder."""
    request = Request(backend="local", **asked)
    project = Project.around(here.root)
    report, folder = reproduce("train", request, session=Session(project=project, progress=RecordedSweep()))
    return next(row for row in report.checks if row.id == "several_seeds"), report, folder


def test_without_a_sweep_nobody_asked_for_several_seeds(here):
    row, _, _ = judged(here)
    assert (row.status, row.reason) == ("SKIPPED", "one seed was judged; no others were requested")
    assert row.remedy == "run several: `reprokit sweep train`"


def seed_of(run: Path) -> int:
    return json.loads((run / "run.json").read_text())["seed"]


def test_a_finished_sweep_of_the_same_inputs_is_passed_and_stands_in_the_report(here):
    answer = swept(here.root)
    row, report, folder = judged(here)
    assert (row.status, row.reason) == ("PASSED", "3 seeds finished, all that the recipe names")
    shown = [Path(run) for run in row.evidence["runs"]]  # of the judged seed, any of its finished runs
    assert sorted(seed_of(run) for run in shown) == sorted(member.seed for member in answer.members)
    assert all((run / "COMPLETE").is_file() for run in shown)
    assert audit(folder / "report.json", project=Project.around(here.root)).exit_code == 0
    again = judge_again([Path(run) for run in report.runs], Request(), project=Project.around(here.root))
    assert next(one for one in again.checks if one.id == "several_seeds") == row


def test_a_run_of_the_sweep_that_is_changed_after_the_report_is_found(here):
    answer = swept(here.root)
    _, _, folder = judged(here)
    (here.root / "runs" / answer.members[2].run / "metrics.jsonl").write_text('{"step": 0, "return": 9.0}\n')
    found = audit(folder / "report.json", project=Project.around(here.root))
    assert found.exit_code == 1
    assert "row several_seeds: the evidence says FAILED" in found.findings


@pytest.mark.slow
def test_a_run_of_the_sweep_that_is_gone_cannot_be_checked(here):
    answer = swept(here.root)
    _, _, folder = judged(here)
    shutil.rmtree(here.root / "runs" / answer.members[2].run)
    assert audit(folder / "report.json", project=Project.around(here.root)).exit_code == 4


@pytest.mark.slow
def test_a_member_that_crashed_is_failed_until_it_finishes(here):
    (here.root / "broken").touch()
    swept(here.root, seeds="3..6")
    row, _, _ = judged(here)
    assert (row.status, row.required) == ("FAILED", False)
    assert row.reason == "seed 5 did not finish: the program ended with exit code 1: no five"
    assert row.remedy == "run them: `reprokit sweep train --seeds 5,`"
    assert judged(here, strict=True)[0].required
    (here.root / "broken").unlink()
    swept(here.root, seeds="5,")
    assert judged(here)[0].status == "PASSED"


def test_seeds_that_ran_before_a_file_outside_the_project_changed_do_not_count(here, tmp_path):
    outside = tmp_path / "scale"
    outside.write_text("1.0")
    here.write(train_py=PROGRAM.replace("value = 1.0", f"value = float(open({str(outside)!r}).read())"))
    swept(here.root)
    assert judged(here)[0].status == "PASSED"
    outside.write_text("2.0")
    row, _, folder = judged(here)
    assert (row.status, row.required) == ("FAILED", False)
    assert "such as a file outside the project" in row.reason
    assert audit(folder / "report.json", project=Project.around(here.root)).exit_code == 0


def test_a_declared_seed_that_no_sweep_finished_is_failed(here):
    swept(here.root, seeds="3,4,8,9")
    row, _, _ = judged(here)
    assert (row.status, row.reason) == ("FAILED", "seeds without a finished run: [6]")


def test_a_changed_member_is_failed(here):
    answer = swept(here.root)
    with (here.root / "runs" / answer.members[1].run / "metrics.jsonl").open("a") as file:
        file.write("\n")
    row, _, _ = judged(here)
    assert (row.status, row.reason) == (
        "FAILED",
        "seed 4 did not finish: metrics.jsonl was changed after the run",
    )


def test_seeds_with_the_same_metrics_are_failed(here):
    here.write(train_py=PROGRAM.replace("random.seed(seed)", "random.seed(7)"))
    swept(here.root)
    row, _, _ = judged(here)
    assert row.status == "FAILED"
    assert (
        row.reason == "3 seeds gave the same metrics, except for what repeats the seed or is constant: "
        "they are one result"
    )


def test_a_sweep_of_other_inputs_says_nothing(here):
    swept(here.root)
    here.write(settings_py="RATE = 0.2\n")
    assert judged(here)[0].status == "SKIPPED"


@pytest.mark.slow
def test_a_sweep_with_another_setting_says_nothing_of_the_recipe_as_it_stands(here):
    swept(here.root, settings=["command=[python, train.py, '{seed}', '{run_dir}', '2']"])
    assert judged(here)[0].status == "SKIPPED"


def test_a_run_of_other_inputs_that_a_report_names_is_a_failure(here):
    first = swept(here.root)
    here.write(settings_py="RATE = 0.2\n")
    second = swept(here.root)
    mine, *_ = (here.root / "runs" / member.run for member in first.members)
    other = here.root / "runs" / second.members[1].run
    found = sweep_evidence(mine, [mine, other], expected={})
    assert (set(found.final_values), dict(found.failures)) == ({3}, {4: "it is not a run of the same inputs"})


def test_a_damaged_record_of_a_sweep_asks_for_nothing(here):
    answer = swept(here.root)
    run = here.root / "runs" / answer.members[0].run
    assert len(runs_of_sweeps(run)) == 3
    answer.path.write_text("{")
    assert runs_of_sweeps(run) == ()


@pytest.mark.slow
def test_a_record_that_leaves_out_a_declared_seed_does_not_pass_it(here):
    (here.root / "broken").touch()
    here.write(recipes__train__recipe_yaml=RECIPE.replace("[3, 4, 6]", "[3, 4, 5, 6]"))
    answer = swept(here.root)
    record = json.loads(answer.path.read_text())
    record["members"] = [row for row in record["members"] if row["seed"] != 5]
    answer.path.write_text(json.dumps(record))
    row, _, _ = judged(here)
    assert (row.status, row.reason) == ("FAILED", "seeds without a finished run: [5]")
