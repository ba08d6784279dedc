"""When an ensemble decides, and that nothing passes by it that should not."""

from dataclasses import replace

import pytest

from reprokit import checks
from reprokit.core.checklist import Verdict, judgement
from reprokit.core.evidence import EnsembleEvidence, ReferenceRun
from reprokit.core.statistics.gate_plan import Conclusion, GateOutcome, Look, MetricJudgement, PlanOfLooks
from reprokit.core.statistics.gate_rates import rates_of
from reprokit.core.verdicts import ensemble_tier
from support import planted

SAID = EnsembleEvidence(
    path="golden/cartpole/cpu-x86_64/ensemble",
    num_seeds=20,
    fingerprint_equal=True,
    conclusion="EQUIVALENT",
    reason="no difference was found",
    runs=("runs/cartpole/T-seed20-1",),
    gate={"outcome": {}},
)
MOVED = planted.on_golden(comparison=planted.DIFFERENT)
MEMBER = replace(SAID, conclusion="", runs=(), gate=None, is_member=True)


def moved(ensemble=SAID, **changes):
    """Two runs that agree, differ from the golden, and were compared with an ensemble."""
    return MOVED(planted.clean(ensemble=ensemble, **changes))


def apart(ensemble=SAID, *, because="atomic additions", platform="cpu-x86_64", **changes):
    """Two runs that differ, on a platform of which the recipe says so."""
    recipe = {**planted.RECIPE, "repeatable": {platform: because}}
    return planted.clean(ensemble=ensemble, recipe=recipe, repeats=(planted.DIFFERENT,), **changes)


def judged(evidence):
    return judgement(evidence, checks.run_all(evidence), registry=checks.registry())


def row(evidence, name):
    return next(one for one in checks.run_all(evidence) if one.id == name)


def test_a_golden_that_is_equal_is_not_the_ensembles_business():
    worse = replace(SAID, conclusion="REGRESSION")
    assert judged(planted.clean(ensemble=worse)).verdict is Verdict.REPRODUCED
    close = planted.on_golden(comparison=planted.CLOSE)(planted.clean(ensemble=worse))
    assert judged(close).verdict is Verdict.REPRODUCED


@pytest.mark.parametrize("golden", ["regression", "stale", "none"])
def test_it_decides_in_place_of_what_the_golden_says(golden):
    evidence = {
        "regression": moved(),
        "stale": planted.on_golden(fingerprint_equal=False)(moved()),
        "none": planted.clean(ensemble=SAID, golden=None),
    }[golden]
    assert judged(evidence).verdict is Verdict.EQUIVALENT
    assert row(evidence, "equals_golden").status == "SKIPPED"
    elsewhere = replace(evidence, ensemble=replace(SAID, fingerprint_equal=False))
    assert judged(elsewhere).verdict is Verdict.EQUIVALENT
    assert row(elsewhere, "environment_compatible").status == "SKIPPED"


@pytest.mark.parametrize(
    ("ensemble", "verdict"),
    [
        (replace(SAID, conclusion="REGRESSION"), Verdict.REGRESSION),
        (replace(SAID, conclusion="UNJUDGED"), Verdict.UNJUDGED),
        (replace(SAID, problem="another margin"), Verdict.UNJUDGED),
        (replace(SAID, not_run="seed 21 crashed"), Verdict.NOT_RUN),
        (replace(SAID, missing="there is no ensemble"), Verdict.REGRESSION),
        (replace(SAID, runs=()), Verdict.UNJUDGED),
        (replace(SAID, gate=None), Verdict.UNJUDGED),
        (replace(SAID, conclusion="FINE"), Verdict.UNJUDGED),
        (replace(SAID, conclusion="", reason=""), Verdict.UNJUDGED),
        (replace(SAID, conclusion="", is_member=True), Verdict.UNJUDGED),
    ],
)
def test_nothing_else_passes(ensemble, verdict):
    evidence = moved(ensemble)
    assert judged(evidence).verdict is verdict
    assert row(evidence, "equals_golden").status in {"FAILED", "ERROR"}


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        (planted.on_golden(is_foreign=True)(moved()), Verdict.UNJUDGED),
        (moved(reference_run=ReferenceRun(path="runs/cartpole/T-1")), Verdict.REGRESSION),
        (planted.on_run(1, complete=False)(moved()), Verdict.NOT_RUN),
        (moved(repeats=(planted.NOTHING,)), Verdict.UNJUDGED),
        (planted.on_golden(comparison=planted.TORN)(planted.clean(ensemble=SAID)), Verdict.UNJUDGED),
        (moved(modified=("training.gamma=0.5",)), Verdict.CHECK_FAILED),
        (planted.ending_at(100.0)(moved()), Verdict.CHECK_FAILED),
    ],
    ids=["foreign", "a run in its place", "unfinished", "not compared", "torn", "modified", "expected"],
)
def test_what_else_is_wrong_still_counts(evidence, verdict):
    assert judged(evidence).verdict is verdict


def test_runs_that_are_a_member_again_are_reproduced():
    evidence = planted.clean(ensemble=MEMBER, golden=None)
    found = judged(evidence)
    assert (found.verdict, "ensemble's run of their seed" in found.because) == (Verdict.REPRODUCED, True)
    assert row(evidence, "equals_golden").status == "PASSED"
    other = planted.clean(ensemble=replace(MEMBER, fingerprint_equal=False), golden=None)
    assert judged(other).verdict is Verdict.REPRODUCED


@pytest.mark.parametrize("name", ["missing", "problem", "not_run"])
def test_a_member_of_an_ensemble_that_cannot_judge_is_none(name):
    evidence = planted.clean(ensemble=replace(MEMBER, **{name: "why"}), golden=None)
    assert judged(evidence).verdict in {Verdict.NO_GOLDEN, Verdict.UNJUDGED, Verdict.NOT_RUN}


class TestRunsThatCannotRepeat:
    def test_they_are_judged_by_the_ensemble(self):
        assert judged(apart()).verdict is Verdict.EQUIVALENT
        assert judged(apart(replace(SAID, conclusion="REGRESSION"))).verdict is Verdict.REGRESSION
        assert row(apart(), "repeatable").status == "SKIPPED"

    def test_a_trace_that_differs_is_a_difference(self):
        evidence = replace(apart(), repeats=(planted.EQUAL,), trace_repeats=(planted.OTHER_TRACE,))
        assert judged(evidence).verdict is Verdict.EQUIVALENT
        assert row(evidence, "trace_equal").status == "SKIPPED"

    def test_without_an_ensemble_they_never_pass(self):
        assert judged(apart(None)).verdict is Verdict.UNJUDGED
        assert judged(apart(EnsembleEvidence(missing="there is none"))).verdict is Verdict.NO_GOLDEN
        assert judged(apart(MEMBER)).verdict is Verdict.UNJUDGED, "they are not equal, so no member's"

    @pytest.mark.parametrize("changes", [{"because": " "}, {"platform": "cuda-h200"}])
    def test_undeclared_they_are_nondeterministic(self, changes):
        assert judged(apart(**changes)).verdict is Verdict.NONDETERMINISTIC
        assert not ensemble_tier.excuses_difference(apart(**changes))

    def test_a_declaration_that_is_no_mapping_declares_nothing(self):
        evidence = replace(apart(), recipe={**planted.RECIPE, "repeatable": False})
        assert judged(evidence).verdict is Verdict.NONDETERMINISTIC

    def test_against_another_run_they_are_nondeterministic(self):
        evidence = apart(reference_run=ReferenceRun(path="runs/cartpole/T-1"))
        assert judged(evidence).verdict is Verdict.NONDETERMINISTIC


def test_the_rates_of_an_answer_are_the_plans_and_those_of_its_last_look():
    one = MetricJudgement(
        name="return",
        margin=2.0,
        num_reference=20,
        num_new=3,
        reference_mean=1.0,
        new_mean=1.0,
        difference=0.0,
        difference_low=-1.0,
        difference_high=1.0,
        excludes_margin=True,
        direction="none",
        differs=False,
        p_value=1.0,
        adjusted_p_value=1.0,
        smallest_possible_p_value=0.001,
        power_at_margin=0.875,
        smallest_visible_drop=1.5,
        num_not_finite=(0, 0),
        zero_variance=False,
    )
    strong = replace(one, name="strong", power_at_margin=0.99)
    odd = replace(one, name="odd", power_at_margin=None)
    outcome = GateOutcome(
        conclusion=Conclusion.UNJUDGED,
        looks=(Look(num_new=3, level=0.0045, metrics=(one, strong, odd)),),
        num_unused=0,
        seeds_more=2,
        reason="",
    )
    rates = rates_of(outcome, PlanOfLooks())
    assert rates["wrong_passes_at_margin"] == pytest.approx({"return": 0.025, "strong": 0.01, "odd": None})
    assert (rates["false_alarms_at_most"], rates["power_asked"]) == (0.05, 0.8)
    assert rates["wrong_passes_at_most"] == pytest.approx(0.025)
