"""The verdict: every rule of the design, their precedence, and what never passes."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprokit import checks
from reprokit.core.checklist import (
    CheckResult,
    Report,
    Status,
    Verdict,
    exit_code,
    judge,
    judgement,
)
from reprokit.core.extension_record import ReportedExtension
from reprokit.core.run_record import RecordedStress
from reprokit.core.verdicts.agreement import difference
from reprokit.core.verdicts.rows import FOREIGN
from support import planted

REGISTRY = {"a": False, "b": False, "c": True}


def row(name, status=Status.PASSED, *, required=True):
    return CheckResult(id=name, title=name, status=status, reason="because", required=required)


def rows(**statuses):
    """The three rows of REGISTRY; ``c`` is advisory."""
    found = {"a": Status.PASSED, "b": Status.PASSED, "c": Status.PASSED, **statuses}
    return [row(name, status, required=not REGISTRY.get(name, False)) for name, status in found.items()]


def verdict(evidence, found=None):
    return judge(evidence, rows() if found is None else found, registry=REGISTRY)


@pytest.mark.parametrize(
    ("expected", "code"),
    [
        (Verdict.REPRODUCED, 0),
        (Verdict.EQUIVALENT, 0),
        (Verdict.REPEATABLE, 0),
        (Verdict.NONDETERMINISTIC, 1),
        (Verdict.REGRESSION, 1),
        (Verdict.CHECK_FAILED, 1),
        (Verdict.NOT_RUN, 3),
        (Verdict.STALE_GOLDEN, 4),
        (Verdict.NO_GOLDEN, 4),
        (Verdict.UNJUDGED, 4),
    ],
)
def test_every_verdict_has_its_exit_code(expected, code):
    assert exit_code(expected) == code


def test_every_verdict_is_listed_above():
    assert len(Verdict) == 10
    assert [v for v in Verdict if exit_code(v) == 0] == [
        Verdict.REPRODUCED,
        Verdict.EQUIVALENT,
        Verdict.REPEATABLE,
    ]


def test_words_in_reports_are_the_names_of_statuses_and_verdicts():
    assert [v.value for v in Verdict] == [v.name for v in Verdict]
    assert [status.value for status in Status] == [status.name for status in Status]


def test_a_report_is_of_schema_1():
    assert {field.default for field in fields(Report) if field.name == "schema"} == {1}


def test_two_equal_runs_of_a_recipe_that_equal_the_golden_are_reproduced():
    assert verdict(planted.clean()) is Verdict.REPRODUCED


@pytest.mark.parametrize("made", [planted.clean, planted.plain])
def test_equal_runs_of_which_one_was_disturbed_are_never_passed(made):
    evidence = made()
    disturbed = replace(evidence.runs[1], run=evidence.runs[1].run._replace(stressed=RecordedStress()))
    evidence = replace(evidence, runs=(evidence.runs[0], disturbed))
    assert verdict(evidence) is Verdict.UNJUDGED
    alike = tuple(replace(run, run=run.run._replace(stressed=RecordedStress())) for run in evidence.runs)
    assert verdict(replace(evidence, runs=alike)) is Verdict.UNJUDGED


def test_disturbed_runs_that_differ_are_nondeterministic_and_never_a_regression():
    evidence = planted.clean()
    alike = tuple(replace(run, run=run.run._replace(stressed=RecordedStress())) for run in evidence.runs)
    differing = replace(evidence.repeats[0], identical=False, within_tolerance=False)
    assert verdict(replace(evidence, runs=alike, repeats=(differing,))) is Verdict.NONDETERMINISTIC
    golden = replace(evidence.golden, comparison=differing)
    assert verdict(replace(evidence, golden=golden)) is Verdict.REGRESSION
    assert verdict(replace(evidence, runs=alike, golden=golden)) is Verdict.UNJUDGED


def test_two_equal_runs_of_a_plain_command_are_repeatable():
    assert verdict(planted.plain()) is Verdict.REPEATABLE


def test_the_whole_checklist_of_clean_evidence_is_reproduced():
    evidence = planted.clean()
    assert judge(evidence, checks.run_all(evidence), registry=checks.registry()) is Verdict.REPRODUCED


def test_strict_passes_where_every_advisory_row_passes():
    evidence = planted.CLEAN["data_recorded"](planted.clean(strict=True))
    found = checks.run_all(evidence)
    assert all(row.required for row in found)
    assert judge(evidence, found, registry=checks.registry()) is Verdict.REPRODUCED


def test_the_whole_checklist_of_a_plain_command_is_repeatable():
    evidence = planted.plain()
    assert judge(evidence, checks.run_all(evidence), registry=checks.registry()) is Verdict.REPEATABLE


def test_the_good_verdicts_say_what_they_rest_on():
    assert judgement(planted.clean(), rows(), registry=REGISTRY).because == (
        "all runs agree with each other and with the golden"
    )
    assert judgement(planted.plain(), rows(), registry=REGISTRY).because == "all runs agree"


def test_a_match_is_unjudged_where_nothing_shows_that_a_metric_responds_whatever_the_rows_say():
    told = judgement(planted.AS_COMMAND(planted.clean()), rows(), registry=REGISTRY)
    assert told.verdict is Verdict.UNJUDGED
    assert told.because == "compared with the golden: nothing shows that a metric responds to the seed"


# 1. A run did not finish.


def test_no_run_at_all_is_not_run():
    told = judgement(planted.clean(runs=(), repeats=(), trace_repeats=()), rows(), registry=REGISTRY)
    assert told.verdict is Verdict.NOT_RUN
    assert told.because == "nothing was run"


@pytest.mark.parametrize("index", [0, 1])
def test_an_unfinished_run_is_not_run_and_says_why(index):
    evidence = planted.on_run(index, complete=False, incomplete_because="out of memory")(planted.clean())
    told = judgement(evidence, rows(), registry=REGISTRY)
    assert told.verdict is Verdict.NOT_RUN
    assert told.because == f"{evidence.runs[index].path}: out of memory"


def test_an_unfinished_run_without_a_reason_still_is_one():
    evidence = planted.on_run(1, complete=False)(planted.clean())
    assert judgement(evidence, rows(), registry=REGISTRY).because.endswith(": the run did not finish")


@pytest.mark.parametrize("index", [0, 1])
def test_a_run_that_was_cut_short_differs_for_that_reason_and_is_not_nondeterministic(index):
    evidence = planted.on_run(index, complete=False)(planted.clean(repeats=(planted.DIFFERENT,)))
    assert verdict(evidence) is Verdict.NOT_RUN
    traced = planted.on_run(index, complete=False)(planted.clean(trace_repeats=(planted.OTHER_TRACE,)))
    assert verdict(traced) is Verdict.NOT_RUN


def test_not_run_comes_before_no_golden_and_failed_checks():
    evidence = planted.on_run(1, complete=False)(planted.clean(golden=None))
    assert verdict(evidence, rows(a=Status.FAILED)) is Verdict.NOT_RUN


# 2. Two runs differ.


def test_two_runs_that_differ_are_nondeterministic():
    evidence = planted.clean(repeats=(planted.DIFFERENT,))
    told = judgement(evidence, rows(), registry=REGISTRY)
    assert told.verdict is Verdict.NONDETERMINISTIC
    assert told.because == "two runs with one seed differ"


def test_runs_that_are_close_but_not_equal_are_nondeterministic():
    assert verdict(planted.clean(repeats=(planted.CLOSE,))) is Verdict.NONDETERMINISTIC


def test_two_runs_that_differ_are_nondeterministic_whatever_else_fails():
    evidence = planted.clean(repeats=(planted.DIFFERENT,), golden=None, modified=("a=1",), seed=7)
    evidence = planted.in_runs("run", "run_id", None)(evidence)
    assert judge(evidence, [], registry=REGISTRY) is Verdict.NONDETERMINISTIC
    assert verdict(evidence, rows(a=Status.FAILED, b=Status.ERROR)) is Verdict.NONDETERMINISTIC


def test_runs_that_differ_are_nondeterministic_even_when_the_golden_differs_too():
    evidence = planted.on_golden(comparison=planted.DIFFERENT)(planted.clean(repeats=(planted.DIFFERENT,)))
    assert verdict(evidence) is Verdict.NONDETERMINISTIC


def test_a_plain_command_that_differs_is_nondeterministic():
    assert verdict(planted.plain(repeats=(planted.DIFFERENT,))) is Verdict.NONDETERMINISTIC


def test_a_third_run_that_differs_is_found():
    evidence = planted.third_run(planted.clean())
    evidence = replace(evidence, repeats=(planted.EQUAL, planted.DIFFERENT))
    assert verdict(evidence) is Verdict.NONDETERMINISTIC


def test_two_runs_that_differ_are_nondeterministic_although_a_third_did_not_finish():
    evidence = planted.on_run(2, complete=False)(planted.third_run(planted.clean()))
    evidence = replace(evidence, repeats=(planted.DIFFERENT, planted.EQUAL))
    assert verdict(evidence) is Verdict.NONDETERMINISTIC


def test_equal_numbers_from_different_parameters_are_nondeterministic():
    evidence = planted.clean(trace_repeats=(planted.OTHER_TRACE,))
    told = judgement(evidence, rows(), registry=REGISTRY)
    assert told.verdict is Verdict.NONDETERMINISTIC
    assert told.because.endswith("but parameters or random states differ: parameters")


def test_ranks_that_hold_other_models_are_named_in_the_verdict():
    place = "rank 1, update 3: parameters.0.weight is not that of rank 0"
    other = replace(planted.OTHER_TRACE, first={**planted.OTHER_TRACE.first, "place": place})
    told = judgement(planted.clean(trace_repeats=(other,)), rows(), registry=REGISTRY)
    assert told.verdict is Verdict.NONDETERMINISTIC
    assert told.because.endswith(place)


def test_a_trace_that_was_not_compared_says_nothing():
    unlooked = replace(planted.OTHER_TRACE, records_compared=0)
    assert verdict(planted.clean(trace_repeats=(unlooked,))) is Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("field", "path", "value"),
    [
        ("run", "seed", 43),
        ("run", "recipe", "other"),
        ("run", "device", "cuda"),
        ("run", "command", ["other"]),
        ("run", "numerics", "native"),
        ("run", "modified", ["training.gamma=0.9"]),
        ("run", "digests.trainer", "sha256:0"),
        ("run", "image.variant", "cuda"),
        ("run", "image.lock_digest", "sha256:0"),
        ("run", "image", None),
        ("config", "training.total_timesteps", 7),
    ],
)
def test_runs_of_two_things_that_differ_say_nothing_about_determinism(field, path, value):
    evidence = planted.in_run(field, path, value)(planted.clean(repeats=(planted.DIFFERENT,)))
    told = judgement(evidence, rows(), registry=REGISTRY)
    assert told.verdict is Verdict.UNJUDGED
    assert evidence.runs[1].path in told.because
    assert verdict(replace(evidence, repeats=(planted.EQUAL,))) is Verdict.UNJUDGED


# Not enough evidence.


@pytest.mark.parametrize("fault", planted.FAULTS["repeatable"])
def test_no_fault_of_two_runs_ever_passes(fault):
    assert exit_code(verdict(planted.FAULTS["repeatable"][fault](planted.clean()))) != 0


PLAIN_TOO = [
    name
    for name in planted.FAULTS["repeatable"]
    if name
    not in {
        "runs of another recipe",
        "a recipe without a name",
        "another lock",
        "another configuration",
        "only some records compared",
    }
]


@pytest.mark.parametrize("fault", PLAIN_TOO)
def test_no_fault_of_two_plain_runs_ever_passes(fault):
    assert exit_code(verdict(planted.FAULTS["repeatable"][fault](planted.plain()))) != 0


@pytest.mark.parametrize(
    "comparison", [planted.NOTHING, planted.TORN, replace(planted.EQUAL, metrics_compared=0)]
)
def test_a_plain_command_without_one_comparable_number_is_unjudged(comparison):
    assert verdict(planted.plain(repeats=(comparison,))) is Verdict.UNJUDGED


def test_one_run_is_unjudged_golden_or_not():
    told = judgement(planted.one_run(planted.clean()), rows(), registry=REGISTRY)
    assert told.verdict is Verdict.UNJUDGED
    assert told.because == "two runs are needed, and there is only one"
    assert verdict(planted.one_run(planted.clean(golden=None))) is Verdict.UNJUDGED


@pytest.mark.parametrize("severity", ["error", "difference", "unheard of"])
def test_a_comparison_that_claims_equality_beside_a_problem_is_not_believed(severity):
    problem = replace(planted.TORN.problems[0], severity=severity)
    contradictory = replace(planted.EQUAL, problems=(problem,))
    assert verdict(planted.clean(repeats=(contradictory,))) is Verdict.UNJUDGED
    assert verdict(planted.on_golden(comparison=contradictory)(planted.clean())) is Verdict.UNJUDGED


def test_a_warning_that_both_sides_share_does_not_matter():
    problem = replace(planted.TORN.problems[0], kind="duplicate_step", side="both", severity="warning")
    comparison = replace(planted.EQUAL, problems=(problem,))
    assert verdict(planted.on_golden(comparison=comparison)(planted.clean(repeats=(comparison,)))) is (
        Verdict.REPRODUCED
    )


# 3. to 5. The golden.


def test_no_golden_is_no_golden_and_says_why():
    evidence = planted.clean(golden=None, golden_missing_because="there is none for seed 7")
    told = judgement(evidence, rows(), registry=REGISTRY)
    assert (told.verdict, told.because) == (Verdict.NO_GOLDEN, "there is none for seed 7")
    assert judgement(planted.clean(golden=None), rows(), registry=REGISTRY).because == "there is no golden"


def test_no_golden_comes_before_failed_checks():
    assert verdict(planted.clean(golden=None), rows(a=Status.FAILED)) is Verdict.NO_GOLDEN


def stopped(evidence):
    """The same runs, stopped where they differ from the golden."""
    return replace(
        evidence, runs=[replace(run, complete=False, stopped_at_golden=True) for run in evidence.runs]
    )


@pytest.mark.parametrize(
    ("fingerprint_equal", "expected"), [(True, Verdict.REGRESSION), (False, Verdict.STALE_GOLDEN)]
)
def test_runs_that_were_stopped_where_they_differ_are_what_whole_ones_would_be(fingerprint_equal, expected):
    differ = planted.on_golden(comparison=planted.DIFFERENT, fingerprint_equal=fingerprint_equal)
    assert verdict(stopped(differ(planted.clean()))) is expected


def test_runs_that_were_stopped_and_do_not_differ_are_unjudged_with_the_reason():
    told = judgement(stopped(planted.clean()), rows(), registry=REGISTRY)
    assert told.verdict is Verdict.UNJUDGED
    assert "were stopped where they differ from the golden, but they do not differ" in told.because


def test_runs_that_were_stopped_are_unjudged_where_an_extension_is_missing():
    differ = planted.on_golden(comparison=planted.DIFFERENT)(planted.clean())
    evidence = replace(stopped(differ), extension_missing="the golden names lab 1.0, which is not loaded")
    told = judgement(evidence, rows(), registry=REGISTRY)
    assert (told.verdict, told.because) == (Verdict.UNJUDGED, "the golden names lab 1.0, which is not loaded")


def test_runs_that_were_stopped_at_a_golden_that_is_not_there_are_unjudged_with_the_reason():
    evidence = stopped(planted.clean(golden=None, golden_missing_because="it was removed"))
    told = judgement(evidence, rows(), registry=REGISTRY)
    assert told.verdict is Verdict.UNJUDGED
    assert told.because == "the runs were stopped at a golden: it was removed"


def test_other_numbers_with_the_same_fingerprint_are_a_regression():
    evidence = planted.on_golden(comparison=planted.DIFFERENT)(planted.clean())
    told = judgement(evidence, rows(a=Status.FAILED), registry=REGISTRY)
    assert told.verdict is Verdict.REGRESSION
    assert told.because == "the metrics differ from the golden"


def test_other_numbers_with_another_fingerprint_are_a_stale_golden():
    evidence = planted.on_golden(comparison=planted.DIFFERENT, fingerprint_equal=False)(planted.clean())
    told = judgement(evidence, rows(a=Status.FAILED), registry=REGISTRY)
    assert told.verdict is Verdict.STALE_GOLDEN
    assert told.because == "the metrics differ from the golden, in an environment that computes differently"


def test_another_fingerprint_with_equal_numbers_is_reproduced():
    assert verdict(planted.on_golden(fingerprint_equal=False)(planted.clean())) is Verdict.REPRODUCED


def test_numbers_within_the_tolerance_are_reproduced():
    assert verdict(planted.on_golden(comparison=planted.CLOSE)(planted.clean())) is Verdict.REPRODUCED


def test_identical_but_not_within_tolerance_contradicts_itself_and_is_a_regression():
    contradictory = replace(planted.EQUAL, within_tolerance=False)
    assert verdict(planted.on_golden(comparison=contradictory)(planted.clean())) is Verdict.REGRESSION


@pytest.mark.parametrize(
    "change",
    [
        {"comparison": planted.NOTHING},
        {"comparison": planted.TORN},
        {"comparison": replace(planted.EQUAL, records_compared=48)},
        {"num_records": 0},
        {"num_records": 50},
    ],
)
def test_a_golden_that_could_not_be_compared_in_full_is_unjudged(change):
    told = judgement(planted.on_golden(**change)(planted.clean()), rows(), registry=REGISTRY)
    assert told.verdict is Verdict.UNJUDGED
    assert told.because.startswith("compared with the golden: ")


def test_a_golden_says_nothing_about_a_plain_command():
    evidence = planted.plain(golden=planted.golden())
    assert verdict(planted.on_golden(comparison=planted.DIFFERENT)(evidence)) is Verdict.REPEATABLE


# 6. The rows.


def test_a_required_row_that_failed_is_check_failed():
    told = judgement(planted.clean(), rows(b=Status.FAILED), registry=REGISTRY)
    assert (told.verdict, told.because) == (Verdict.CHECK_FAILED, "required checks failed: b")


@pytest.mark.parametrize("status", [Status.ERROR, Status.SKIPPED])
def test_a_required_row_that_was_not_judged_is_unjudged(status):
    told = judgement(planted.clean(), rows(b=status), registry=REGISTRY)
    assert (told.verdict, told.because) == (Verdict.UNJUDGED, "required checks were not judged: b")


def test_failed_weighs_more_than_not_judged():
    assert verdict(planted.clean(), rows(a=Status.ERROR, b=Status.FAILED)) is Verdict.CHECK_FAILED


@pytest.mark.parametrize("status", Status)
def test_an_advisory_row_never_decides(status):
    assert verdict(planted.clean(), rows(c=status)) is Verdict.REPRODUCED


@pytest.mark.parametrize("status", [Status.FAILED, Status.ERROR])
def test_an_advisory_row_decides_under_strict_even_if_it_says_it_is_not_required(status):
    assert exit_code(verdict(planted.clean(strict=True), rows(c=status))) != 0


@pytest.mark.parametrize("status", [Status.FAILED, Status.ERROR, "failed", None])
def test_a_bad_row_is_not_excused_by_saying_itself_that_it_is_not_required(status):
    found = [row("a"), row("b", status, required=False), row("c", required=False)]
    assert exit_code(verdict(planted.clean(), found)) != 0


@pytest.mark.parametrize("status", [Status.FAILED, Status.ERROR])
def test_a_row_of_an_extension_never_decides_whatever_it_says_of_itself(status):
    foreign = row(f"{FOREIGN}drift", status, required=True)
    assert verdict(planted.clean(), [*rows(), foreign]) is Verdict.REPRODUCED


def test_an_advisory_row_that_the_recipe_requires_decides():
    evidence = planted.in_recipe("checks.require", ["c"])(planted.clean())
    assert verdict(evidence, rows(c=Status.FAILED)) is Verdict.CHECK_FAILED


def test_a_row_that_does_not_apply_does_not_decide():
    found = [row("a"), row("b", Status.SKIPPED, required=False), row("c", required=False)]
    assert verdict(planted.clean(), found) is Verdict.REPRODUCED


def relaxing(name, because="a reason"):
    return planted.in_recipe("checks.relax", [{"check": name, "because": because}])(planted.clean())


def test_a_row_that_the_recipe_relaxes_does_not_decide():
    found = [row("a"), row("b", Status.FAILED, required=False), row("c", required=False)]
    assert verdict(relaxing("b"), found) is Verdict.REPRODUCED


@pytest.mark.parametrize("because", ["", "  ", None])
def test_a_row_relaxed_without_a_reason_still_decides(because):
    found = [row("a"), row("b", Status.FAILED, required=False), row("c", required=False)]
    assert verdict(relaxing("b", because), found) is Verdict.CHECK_FAILED


@pytest.mark.parametrize("name", ["repeatable", "equals_golden", "unmodified"])
def test_what_the_verdict_means_cannot_be_relaxed(name):
    found = [row(name, Status.FAILED, required=False)]
    assert judge(relaxing(name), found, registry={name: False}) is Verdict.CHECK_FAILED


def test_rows_that_pass_do_not_make_up_for_evidence_that_does_not():
    for evidence in (
        planted.clean(repeats=()),
        planted.clean(golden=None),
        planted.one_run(planted.clean()),
        planted.clean(modified=("training.gamma=0.9",)),
    ):
        assert exit_code(verdict(evidence)) != 0


def test_a_modified_run_is_never_taken_for_the_recipes():
    told = judgement(planted.clean(modified=("a=1",)), rows(), registry=REGISTRY)
    assert (told.verdict, told.because) == (Verdict.UNJUDGED, "a modified run is not the recipe's")


def test_a_row_that_is_absent_is_not_a_row_that_passed():
    told = judgement(planted.clean(), [row("a"), row("c", required=False)], registry=REGISTRY)
    assert (told.verdict, told.because) == (Verdict.UNJUDGED, "checks are missing: b")


def test_every_row_that_decided_is_named():
    def because(found):
        return judgement(planted.clean(), found, registry=REGISTRY).because

    assert because(rows(a=Status.FAILED, b=Status.FAILED)) == "required checks failed: a, b"
    assert because(rows(a=Status.ERROR, b=Status.SKIPPED)) == "required checks were not judged: a, b"
    assert because([row("c", required=False)]) == "checks are missing: a, b"
    assert because([*rows(), row("b"), row("a")]) == "checks appear twice: a, b"


def test_missing_rows_are_told_before_overrides():
    told = judgement(planted.clean(modified=("a=1",)), [row("a"), row("c")], registry=REGISTRY)
    assert told.because == "checks are missing: b"


def test_an_absent_advisory_row_is_missed_too():
    assert verdict(planted.clean(), [row("a"), row("b")]) is Verdict.UNJUDGED


def test_no_rows_at_all_are_unjudged():
    assert verdict(planted.clean(), []) is Verdict.UNJUDGED
    assert judge(planted.clean(), [], registry={}) is Verdict.UNJUDGED
    assert judgement(planted.clean(), [], registry={}).because == "no check is required"


def test_nothing_required_is_unjudged():
    nothing = [row("a", Status.SKIPPED, required=False), row("b", required=False), row("c", required=False)]
    assert verdict(planted.clean(), nothing) is Verdict.UNJUDGED


def test_a_row_that_appears_twice_is_unjudged():
    told = judgement(planted.clean(), [*rows(), row("a")], registry=REGISTRY)
    assert (told.verdict, told.because) == (Verdict.UNJUDGED, "checks appear twice: a")


def test_a_row_that_nobody_registered_decides_when_it_is_bad():
    assert verdict(planted.clean(), [*rows(), row("x", Status.FAILED)]) is Verdict.CHECK_FAILED
    assert verdict(planted.clean(), [*rows(), row("x", Status.ERROR, required=False)]) is Verdict.UNJUDGED
    assert verdict(planted.clean(), [*rows(), row("x", Status.SKIPPED, required=False)]) is Verdict.REPRODUCED


# Properties.

WORSE = {
    Status.PASSED: [Status.SKIPPED, Status.ERROR, Status.FAILED],
    Status.SKIPPED: [Status.ERROR, Status.FAILED],
    Status.ERROR: [Status.FAILED],
    Status.FAILED: [],
}
RANK = {Verdict.REPRODUCED: 0, Verdict.REPEATABLE: 0, Verdict.UNJUDGED: 1, Verdict.CHECK_FAILED: 2}
checklists = st.fixed_dictionaries(
    {name: st.tuples(st.sampled_from(list(Status)), st.booleans()) for name in REGISTRY}
)


@given(drawn=checklists, name=st.sampled_from(list(REGISTRY)), strict=st.booleans(), data=st.data())
def test_worsening_a_row_never_improves_a_verdict(drawn, name, strict, data):
    evidence = data.draw(st.sampled_from([planted.clean(strict=strict), planted.plain(strict=strict)]))
    before = [row(key, status, required=required) for key, (status, required) in drawn.items()]
    status, required = drawn[name]
    worse = data.draw(st.sampled_from([status, *WORSE[status]]))
    after = [row(name, worse, required=required) if one.id == name else one for one in before]
    assert RANK[verdict(evidence, after)] >= RANK[verdict(evidence, before)]


@given(drawn=checklists, name=st.sampled_from(list(REGISTRY)))
def test_taking_a_row_away_never_makes_a_verdict_good(drawn, name):
    found = [row(key, status, required=required) for key, (status, required) in drawn.items() if key != name]
    assert exit_code(verdict(planted.clean(), found)) != 0


@given(name=st.sampled_from(["repeatable", "equals_golden"]), data=st.data())
def test_evidence_with_a_fault_never_becomes_good_by_its_rows(name, data):
    harmless = {"a golden without provenance"} | {
        fault for fault in planted.FAULTS[name] if fault.startswith("the golden of ")
    }
    fault = data.draw(st.sampled_from(sorted(set(planted.FAULTS[name]) - harmless)))
    assert exit_code(verdict(planted.FAULTS[name][fault](planted.clean()))) != 0


@pytest.mark.parametrize(
    ("foreign", "unknown", "because"),
    [
        (
            False,
            "sh is not followed",
            (
                "the metrics differ from {noun}, {difference}; "
                "whether the environment computes the same is not known: sh is not followed"
            ),
        ),
        (
            True,
            "",
            "the metrics differ from {noun} by more than the declared tolerance, {difference}",
        ),
    ],
)
def test_other_numbers_than_a_golden_of_an_unknown_environment_are_not_judged(foreign, unknown, because):
    golden = replace(
        planted.golden(), comparison=planted.DIFFERENT, is_foreign=foreign, environment_unknown=unknown
    )
    found = judgement(planted.clean(golden=golden), rows(), registry=REGISTRY)
    assert found.verdict is Verdict.UNJUDGED
    assert found.because == because.format(noun=golden.noun, difference=difference(planted.DIFFERENT))


def test_nothing_is_compared_with_a_golden_whose_extension_is_not_loaded():
    evidence = planted.clean(extension_missing="the golden names pbs-queue 1.0, which is not loaded")
    found = judgement(evidence, rows(), registry=REGISTRY)
    assert (found.verdict, found.because) == (Verdict.UNJUDGED, evidence.extension_missing)


@pytest.mark.parametrize(
    ("had_say", "strict", "expected"),
    [
        (("read metrics",), True, Verdict.UNJUDGED),
        (("read metrics",), False, Verdict.REPRODUCED),
        ((), True, Verdict.REPRODUCED),
    ],
)
def test_strict_passes_nothing_in_which_an_extension_had_a_say(had_say, strict, expected):
    one = ReportedExtension(name="pbs-queue", version="1.0", digest="sha256:1", had_say=had_say)
    assert verdict(planted.clean(extensions=(one,), strict=strict)) is expected
