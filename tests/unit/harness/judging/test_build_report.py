"""From evidence to a report: the verdict, its words, and everything that the formats draw from."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from reprokit.core.checklist import Status, Verdict
from reprokit.core.records import Outcome
from reprokit.golden import Promotion
from reprokit.harness import Request, judge_again
from reprokit.harness.curation import promote
from reprokit.harness.judging.build_report import evidence_digests
from reprokit.harness.running import again
from reprokit.reports.formats import to_json


@pytest.fixture
def judged(here):
    def judge(folders, **words):
        return judge_again(folders, Request(**words), project=here)

    return judge


def test_two_equal_runs_of_a_command_are_repeatable(judged, make, programs):
    folders = make.of_command(programs["logging"](), programs["logging"]())
    report = judged(folders, command="reprokit reproduce -- python train.py")
    assert (report.verdict, report.exit_code) == (Verdict.REPEATABLE, 0)
    assert (report.recipe, report.platform, report.seed) == ("plain-train", "cpu-x86_64", 7)
    assert report.runs == tuple(map(str, folders))
    assert (report.golden, report.divergence, report.not_run) == (None, None, None)
    assert report.rerun == "reprokit reproduce --seed 7 -- python train.py"


def test_where_a_command_prints_no_number_the_page_on_metrics_is_named(judged, make):
    def prints(spec, output, on_tick):
        (output / "notes.md").write_text("no numbers\n")

    folders = make.of_command(prints, prints, command=("python", "train.py", "--name", "a b", "{seed}"))
    report = judged(folders)
    assert report.verdict is Verdict.UNJUDGED
    assert report.next_command == "reprokit help bring-your-own-program"


def test_where_it_prints_numbers_the_line_that_compares_them_is_named(judged, make):
    def prints(spec, output, on_tick):
        (output.parent / "stdout.log").write_text("step 1 loss 0.5\nstep 2 loss 0.25\nstep 3 loss 0.125\n")

    folders = make.of_command(prints, prints, command=("python", "train.py", "--name", "a b", "{seed}"))
    assert judged(folders).next_command == (
        "reprokit reproduce --seed 7 -- "
        """sh -c 'python train.py --name '"'"'a b'"'"' {seed} > {run_dir}/printed.log'"""
    )


def test_a_shell_that_prints_is_not_put_into_another():
    line = "reprokit reproduce -- sh -c 'cd x && python train.py'"
    assert again.with_printed(line) == (
        "reprokit reproduce -- sh -c '(cd x && python train.py) > {run_dir}/printed.log'"
    )


def test_two_runs_that_differ_name_the_first_place(judged, make, programs):
    late = programs["logging"](loss=lambda step: 1 / step + (step > 3))
    report = judged(make.of_command(programs["logging"](), late))
    assert (report.verdict, report.exit_code) == (Verdict.NONDETERMINISTIC, 1)
    assert (report.divergence.step, report.divergence.metric) == (4, "loss")
    assert "step 4 (record 3, metric loss)" in report.sentence
    assert report.comparisons.repeats[0].identical is False


def test_of_three_runs_the_divergence_is_that_of_the_first_that_differs(judged, make, programs):
    late = programs["logging"](loss=lambda step: 1 / step + (step > 3))
    report = judged(make.of_command(programs["logging"](), programs["logging"](), late))
    assert report.divergence.step == 4
    assert [one.identical for one in report.comparisons.repeats] == [True, False]


def test_placeholders_of_the_command_to_run_again_are_not_quoted_and_what_was_left_out_stays_so(
    judged, make, programs
):
    command = ("python", "train.py", "--seed", "{seed}", "--out", "{run_dir}", "--name", "a b")
    folders = make.of_command(programs["logging"](), programs["logging"](), command=command)
    report = judged(folders, ignore=("time/*",))
    assert report.rerun == (
        "reprokit reproduce --seed 7 --ignore-metric 'time/*' -- "
        "python train.py --seed {seed} --out {run_dir} --name 'a b'"
    )


def test_a_run_that_failed_is_not_run_with_its_message_and_log(judged, make, programs):
    def program(_spec, output, _tick):
        (output.parent / "stderr.log").write_text("planted\n")
        return programs["ended"](Outcome.CRASHED, 1, "the program crashed")

    report = judged(make.of_command(program))
    assert (report.verdict, report.exit_code) == (Verdict.NOT_RUN, 3)
    assert report.sentence == "A run did not finish: the program crashed."
    assert (report.not_run["outcome"], report.not_run["log_tail"]) == ("crashed", "planted")


def test_a_run_that_finished_well_has_no_failure_in_its_report(judged, make, programs):
    report = judged(make.of_command(programs["logging"](), programs["logging"](loss=lambda step: 2.0)))
    assert report.not_run is None


def test_one_run_alone_cannot_be_judged(judged, make, programs):
    report = judged(make.of_command(programs["logging"]()))
    assert (report.verdict, report.exit_code) == (Verdict.UNJUDGED, 4)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"step": 1, "loss": 0.5}\n{"step": 2, "lo',
        "not json\n",
        "\x00\x00",
        '{"step": 1, "loss": null}\n',
    ],
)
def test_metrics_that_cannot_be_read_end_in_a_report_and_never_in_a_pass(judged, make, text):
    def program(_spec, output, _tick):
        (output / "metrics.jsonl").write_text(text)

    report = judged(make.of_command(program, program))
    assert report.exit_code != 0
    assert report.verdict in {Verdict.UNJUDGED, Verdict.CHECK_FAILED}


def test_numbers_that_json_does_not_have_are_drawn_as_gaps(judged, make):
    def program(_spec, output, _tick):
        (output / "metrics.jsonl").write_text('{"step": 1, "loss": NaN}\n{"step": 2, "loss": 0.5}\n')

    report = judged(make.of_command(program, program))
    assert report.curves["loss"][0].values == [None, 0.5]
    assert to_json.from_json(to_json.to_json(report)).verdict is report.verdict


def test_curves_carry_runs_and_golden_under_their_names(judged, make, programs, here):
    folders = make.of_recipe(programs["training"](), programs["training"]())
    promote(
        folders,
        project=here,
        promotion=Promotion(
            reason="first", created_at="2026-11-20T10:15:00+00:00", allow_dirty=True, allow_failed=True
        ),
    )
    report = judged(folders)
    assert [one.label for one in report.curves["losses/policy"]] == ["run 1", "run 2", "golden"]
    assert report.golden is not None
    assert report.comparisons.golden.identical is True


def test_a_recipe_is_judged_by_the_recipe_as_it_was_when_it_ran(judged, make, programs):
    """The folder has its own snapshot: the project's recipes need not even be there."""
    report = judged(make.of_recipe(programs["training"](), programs["training"]()))
    assert report.recipe == "cartpole_baseline"
    assert report.verdict is Verdict.NO_GOLDEN
    assert report.recipe_lines["tolerances"] > 1
    assert {row.id for row in report.checks} >= {"repeatable", "equals_golden", "checkpoints_complete"}


def test_a_strict_request_makes_advisory_rows_count(judged, make, programs):
    folders = make.of_recipe(programs["training"](), programs["training"]())
    loose, strict = judged(folders), judged(folders, strict=True)
    required = [{row.id for row in report.checks if row.required} for report in (loose, strict)]
    assert required[0] < required[1]


def test_every_row_of_the_checklist_is_in_every_report(judged, make, programs):
    reports = [
        judged(make.of_command(programs["logging"](), programs["logging"]())),
        judged(make.of_recipe(programs["training"](), programs["training"]())),
    ]
    ids = [[row.id for row in report.checks] for report in reports]
    assert ids[0] == ids[1]
    assert all(row.status is not Status.ERROR for row in reports[0].checks)


def test_the_digests_of_the_evidence_are_those_of_the_markers(make, programs):
    first, second = make.of_command(programs["logging"](), programs["logging"]())
    (second / "COMPLETE").unlink()
    digest = hashlib.sha256((first / "COMPLETE").read_bytes()).hexdigest()
    found = evidence_digests([first, second], None)
    assert list(found) == [str(first / "COMPLETE")]
    assert found[str(first / "COMPLETE")].removeprefix("sha256:") == digest


def test_a_goldens_provenance_is_part_of_the_evidence(make, programs, here):
    folders = make.of_recipe(programs["training"](), programs["training"]())
    golden = promote(
        folders,
        project=here,
        promotion=Promotion(
            reason="first", created_at="2026-11-20T10:15:00+00:00", allow_dirty=True, allow_failed=True
        ),
    )
    found = evidence_digests(folders, str(golden.path))
    assert str(Path(golden.path) / "provenance.json") in found
