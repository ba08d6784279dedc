"""A run in place of a golden: judged by the golden's rules, and called by its own name."""

from dataclasses import replace

import pytest

from reprokit import recipes
from reprokit.core.checklist import Verdict
from reprokit.core.evidence import ReferenceRun
from reprokit.core.verdicts.rows import Status
from reprokit.harness.judging.compared_with.reference import run_reference
from reprokit.harness.judging.compared_with.reference_run import judge_against, read_reference_run, recipe_of
from reprokit.harness.judging.gather import gather
from reprokit.request import Request

OVERRIDE = "training.gamma=0.5"


def overridden(recipe, *overrides):
    return recipes.load("cartpole_baseline", recipes_dir=recipe.file.parent.parent, overrides=overrides)


@pytest.fixture
def against(make, programs):
    """Judges two new runs with an earlier one in the golden's place."""

    def judged(earlier=None, new=None, *, before=lambda folder: None):
        train = programs["training"]
        make.recipe, new_recipe = earlier or make.recipe, new or earlier or make.recipe
        (folder,) = make.of_recipe(train())
        before(folder)
        stored = read_reference_run(folder)
        make.recipe = new_recipe
        folders = make.of_recipe(judged.program or train(), judged.program or train())
        return stored, judge_against(folders, stored, recipe_of(stored), request=Request())

    judged.program = None
    return judged


def row(report, name):
    return next(row for row in report.checks if row.id == name)


def texts(report):
    return [report.sentence, *(row.reason for row in report.checks)]


def test_equal_runs_agree_with_the_run_by_its_name(against):
    stored, report = against()
    assert report.golden == str(stored.path)
    assert row(report, "equals_golden").status is Status.PASSED
    assert f"in all runs and in the run {stored.path.name}" in row(report, "trace_equal").reason
    compatible = row(report, "environment_compatible").reason
    assert compatible == f"the numerics fingerprint equals that of the run {stored.path.name}"
    assert not [text for text in texts(report) if "the golden" in text]


def test_other_metrics_are_a_regression_from_the_run(against, programs):
    against.program = programs["training"](loss=lambda step: 2 / step)
    stored, report = against()
    assert report.verdict is Verdict.REGRESSION
    assert report.sentence == (
        f"2 runs agree, but differ from the run {stored.path.name} from step 4096 (record 0, metric "
        "losses/policy) on, in an environment that computes the same; nothing in the recipe has changed "
        "since then."
    )
    assert report.next_command.startswith(f"reprokit runs compare {stored.path} {report.runs[0]} ")
    assert not [text for text in texts(report) if "the golden" in text]


def test_a_run_of_another_platform_is_not_compared(against, recipe):
    stored, _ = against()
    reference = run_reference(stored, recipe)
    elsewhere = replace(reference, provenance=reference.provenance._replace(platform="cuda-h200"))

    found = gather(recipe, [stored.path], reference=elsewhere)
    assert found.golden is None
    assert found.golden_missing_because == (
        f"the run {stored.path.name} was made on cuda-h200, these runs on cpu-x86_64"
    )
    assert found.reference_run == ReferenceRun(path=str(stored.path))


def test_overrides_of_the_run_are_repeated_and_no_modification(against, recipe):
    stored, report = against(overridden(recipe, OVERRIDE))
    unmodified = row(report, "unmodified")
    assert unmodified.status is Status.PASSED
    assert unmodified.reason == f"with the overrides of the run {stored.path.name}: --set {OVERRIDE}"
    assert row(report, "headline_results").required is False


@pytest.mark.parametrize("overrides", [(), ("training.gamma=0.6",), (OVERRIDE, "training.gae_lambda=0.5")])
def test_runs_with_other_overrides_than_the_run_are_modified(against, recipe, overrides):
    stored, report = against(overridden(recipe, OVERRIDE), overridden(recipe, *overrides))
    unmodified = row(report, "unmodified")
    assert unmodified.status is Status.FAILED
    assert f"run with other overrides than the run {stored.path.name}: " in unmodified.reason
    assert unmodified.reason.endswith(f"not {OVERRIDE}")
    assert report.verdict is not Verdict.REPRODUCED
