"""When evidence proves that runs agree, and what it says when it does not."""

from dataclasses import replace

import pytest

from reprokit.core.comparison import Divergence
from reprokit.core.verdicts.agreement import (
    chance_of_another,
    difference,
    differing,
    differing_trace,
    why_not_equal,
    why_not_golden,
    why_not_repeated,
    why_not_repetitions,
    why_not_two_runs,
)
from reprokit.core.verdicts.comparability import KEYS, Objection
from support import planted

FIRST, SECOND = (run.path for run in planted.clean().runs)
MISFIT = "has a value of the wrong type or size"


def test_equal_numbers_in_every_record_agree():
    assert why_not_equal(planted.EQUAL, records=49) is None
    assert why_not_equal(planted.EQUAL, records=49, tolerant=True) is None


def test_one_record_of_one_metric_is_enough_to_agree():
    one = replace(planted.EQUAL, records_compared=1, metrics_compared=1)
    assert why_not_equal(one, records=1) is None
    assert (
        why_not_golden(
            planted.both(planted.on_golden(num_records=1, comparison=one), planted.on_run(0, num_records=1))(
                planted.clean()
            )
        )
        is None
    )


def test_a_problem_of_both_files_is_told_of_both():
    problem = replace(planted.TORN.problems[0], side="both")
    both = replace(planted.TORN, problems=(problem,))
    assert why_not_equal(both, records=49) == Objection("torn_line in both files: cut off")


def test_a_warning_that_both_sides_share_does_not_matter():
    problem = replace(planted.TORN.problems[0], kind="duplicate_step", side="both", severity="warning")
    assert why_not_equal(replace(planted.EQUAL, problems=(problem,)), records=49) is None
    both = replace(planted.EQUAL, problems=(problem, planted.TORN.problems[0]))
    assert why_not_equal(both, records=49) == Objection("torn_line in the actual file: cut off")


@pytest.mark.parametrize(
    ("comparison", "why"),
    [
        (None, "the metrics were never compared"),
        (replace(planted.EQUAL, records_compared=0), "no metric could be compared"),
        (replace(planted.EQUAL, records_compared=-1), "no metric could be compared"),
        (replace(planted.EQUAL, metrics_compared=0), "no metric could be compared"),
        (planted.TORN, "torn_line in the actual file: cut off"),
        (planted.DIFFERENT, "the metrics differ"),
        (planted.CLOSE, "the metrics differ"),
        (replace(planted.EQUAL, identical=1), "the metrics differ"),
        (replace(planted.EQUAL, records_compared=48), "only 48 of 49 records were compared"),
        (replace(planted.EQUAL, records_compared=50), "only 50 of 49 records were compared"),
    ],
)
def test_anything_less_does_not_and_says_why(comparison, why):
    assert why_not_equal(comparison, records=49) == Objection(why)


def test_close_numbers_agree_only_where_a_tolerance_is_meant():
    assert why_not_equal(planted.CLOSE, records=49, tolerant=True) is None
    beyond = replace(planted.CLOSE, within_tolerance=False)
    assert why_not_equal(beyond, records=49, tolerant=True) == Objection("the metrics differ")
    assert why_not_equal(replace(planted.CLOSE, within_tolerance=1), records=49, tolerant=True) == Objection(
        "the metrics differ"
    )


def test_a_difference_is_told_with_step_metric_and_both_values():
    assert difference(planted.DIFFERENT) == "from step 8192 on: losses/policy is 0.25, expected 0.5"


@pytest.mark.parametrize(
    ("expected", "actual", "words"),
    [
        (None, 1, "is 1, expected null"),
        (True, False, "is false, expected true"),
        ("a", 1.0, "is 1.0, expected 'a'"),
    ],
)
def test_values_are_told_as_the_file_has_them(expected, actual, words):
    first = replace(planted.DIFFERENT.divergence, expected=expected, actual=actual)
    assert difference(replace(planted.DIFFERENT, divergence=first)).endswith(f": losses/policy {words}")


def test_an_integer_too_long_for_decimals_is_told_by_its_length():
    first = replace(planted.DIFFERENT.divergence, expected=1 << 20_000, actual=7)
    told = difference(replace(planted.DIFFERENT, divergence=first))
    assert told == "from step 8192 on: losses/policy is 7, expected an integer of 20,001 bits"


def test_a_difference_without_a_step_is_told_by_its_record():
    first = Divergence(record=0, step=None, metric=None, expected={}, actual=None, what="missing record")
    assert difference(replace(planted.DIFFERENT, divergence=first)) == "from record 0 on: missing record"
    silent = replace(first, what="", step=0)
    assert difference(replace(planted.DIFFERENT, divergence=silent)) == "from step 0 on: whole records differ"
    assert difference(replace(planted.DIFFERENT, divergence=None)) == "(place not recorded)"


def test_runs_of_one_thing_are_alike_although_folders_times_and_cores_differ():
    evidence = planted.both(
        planted.in_run("run", "started_at", "2026-11-20"),
        planted.in_run("run", "attempt", 2),
        planted.in_run("run", "limits", {"cpus": [1]}),
        planted.in_run("environment", "host.kernel", "6.2"),
    )(planted.clean())
    assert why_not_repetitions(evidence.runs) is None
    assert why_not_repetitions(planted.plain().runs) is None
    assert why_not_repetitions(()) is None


def test_runs_of_two_things_are_not_and_the_setting_is_named():
    other = planted.in_run("run", "device", "cuda")(planted.clean())
    assert why_not_repetitions(other.runs) == Objection(
        f"{SECOND}: runs are not comparable: devices differ ('cpu', 'cuda')"
    )
    assert why_not_repetitions(planted.on_run(1, config=None)(planted.clean()).runs) == Objection(
        f"{SECOND}: runs are not comparable: configurations differ"
    )


OTHER_THINGS = [
    ("recipe", "other"),
    ("plain_command", ["other"]),
    ("seed", 43),
    ("seed", 42.0),
    ("device", "cuda"),
    ("command", ["other"]),
    ("numerics", "native"),
    ("modified", ["training.gamma=0.9"]),
    ("digests.trainer", "sha256:0"),
    ("image.variant", "cuda"),
    ("image.lock_digest", "sha256:0"),
    ("image", None),
    ("resumed_from", {"step": 4096}),
    ("varied", {"names": ["umask"]}),
    ("stressed", {"number": 1}),
]


def test_every_key_that_repeated_runs_must_share_is_planted():
    planted_keys = {path for path, _ in OTHER_THINGS} | {"digests", "resumed_from.step", "varied.names"}
    assert {key.path for key in KEYS} - planted_keys == {"config", "backend"}


@pytest.mark.parametrize(("path", "value"), OTHER_THINGS)
def test_runs_of_two_things_neither_agree_nor_differ(path, value):
    evidence = planted.in_run("run", path, value)(
        planted.clean(repeats=(planted.DIFFERENT,), trace_repeats=(planted.OTHER_TRACE,))
    )
    assert why_not_repetitions(evidence.runs)
    assert differing(evidence) is None
    assert differing_trace(evidence) is None
    assert why_not_repeated(replace(evidence, repeats=(planted.EQUAL,)))


def test_a_third_run_of_another_thing_is_found():
    evidence = planted.third_run(planted.clean())
    assert why_not_repetitions(planted.in_run("run", "seed", 7, index=2)(evidence).runs).reason.endswith(
        "seeds differ (42, 7)"
    )


def test_the_run_that_differs_is_named_with_its_comparison():
    evidence = replace(planted.third_run(planted.clean()), repeats=(planted.EQUAL, planted.DIFFERENT))
    found = differing(evidence)
    assert found is not None
    assert found[0] is evidence.runs[2]
    assert found[1] is planted.DIFFERENT


@pytest.mark.parametrize("comparison", [planted.EQUAL, planted.TORN, planted.NOTHING])
def test_what_is_equal_or_cannot_be_compared_does_not_differ(comparison):
    assert differing(planted.clean(repeats=(comparison,))) is None


def test_the_trace_that_differs_is_named_with_its_run():
    evidence = planted.clean(trace_repeats=(planted.OTHER_TRACE,))
    found = differing_trace(evidence)
    assert found is not None
    assert found[0] is evidence.runs[1]
    assert found[1] is planted.OTHER_TRACE
    assert differing_trace(planted.clean()) is None


def test_runs_that_were_never_compared_do_not_differ():
    evidence = planted.third_run(planted.clean())
    evidence = replace(evidence, repeats=(planted.EQUAL,), trace_repeats=(planted.SAME_TRACE,))
    assert differing(evidence) is None
    assert differing_trace(evidence) is None
    assert why_not_repeated(evidence) == Objection("3 runs were compared 1 times")


def test_a_trace_of_which_nothing_was_compared_does_not_differ():
    unlooked = replace(planted.OTHER_TRACE, records_compared=0)
    assert differing_trace(planted.clean(trace_repeats=(unlooked,))) is None
    one = replace(planted.OTHER_TRACE, records_compared=1)
    assert differing_trace(planted.clean(trace_repeats=(one,))) is not None


@pytest.mark.parametrize("index", [0, 1])
def test_an_unfinished_run_neither_differs_in_numbers_nor_in_its_trace(index):
    evidence = planted.clean(repeats=(planted.DIFFERENT,), trace_repeats=(planted.OTHER_TRACE,))
    evidence = planted.on_run(index, complete=False)(evidence)
    assert differing(evidence) is None
    assert differing_trace(evidence) is None


WHY = {
    "one run only": "two runs are needed, and there is only one",
    "no comparison": "2 runs were compared 0 times",
    "one comparison too many": "2 runs were compared 2 times",
    "only some records compared": "only 48 of 49 records were compared",
    "the first run is longer": f"{SECOND} has 49 records, {FIRST} has 50",
    "the second run is longer": f"{SECOND} has 50 records, {FIRST} has 49",
    "one folder twice": "the same run folder is given twice",
    "a copied folder": f"{FIRST}: a copy of another run (20261120T101500Z-seed42-1)",
    "a run without a name": f"{SECOND}: run.json has no run_id",
    "a run with an empty name": f"{SECOND}: run.json has no run_id",
    "an exit code that is false": f"{FIRST}: run.json is damaged: 'exit_code' {MISFIT}",
    "no outcome": f"{SECOND}: the run is incomplete according to run.json",
    "a run of another seed": f"{SECOND}: runs are not comparable: seeds differ (42, 43)",
    "both runs of another seed": f"{FIRST}: the seed is 43, but 42 was requested",
    "a seed in text": f"{FIRST}: run.json is damaged: 'seed' {MISFIT}",
    "runs of another recipe": f"{FIRST}: a run of 'mountaincar', but 'cartpole' was requested",
    "a recipe without a name": f"{FIRST}: a run of 'cartpole', but None was requested",
    "an exit code that is not 0": f"{SECOND}: the run is incomplete according to run.json",
}


@pytest.mark.parametrize("fault", WHY)
def test_what_is_not_a_proof_of_repeatability_says_why(fault):
    assert why_not_repeated(planted.FAULTS["repeatable"][fault](planted.clean())) == Objection(WHY[fault])


def test_a_run_that_was_resumed_is_no_proof():
    resumed = planted.in_run("run", "resumed_from", {"run": "cartpole/earlier"})(planted.clean())
    assert why_not_two_runs(resumed).reason.endswith("a resumed run holds only the later steps of a training")


@pytest.mark.parametrize(
    ("name", "why"), [(7, f"run.json is damaged: 'run_id' {MISFIT}"), (None, "run.json has no run_id")]
)
def test_a_run_needs_a_name_that_is_text(name, why):
    found = why_not_repeated(planted.in_run("run", "run_id", name)(planted.clean()))
    assert found == Objection(f"{SECOND}: {why}")


def test_what_is_wrong_with_the_runs_is_told_before_what_is_wrong_with_their_comparisons():
    evidence = replace(planted.same_folder_twice(planted.clean()), repeats=())
    assert why_not_repeated(evidence) == Objection("the same run folder is given twice")


def test_without_a_seed_that_was_asked_for_the_runs_own_will_do():
    assert why_not_repeated(planted.clean(seed=None)) is None


def test_two_agreeing_runs_are_a_proof():
    assert why_not_repeated(planted.clean()) is None
    assert why_not_repeated(planted.plain()) is None
    assert why_not_repeated(planted.third_run(planted.clean())) is None


def test_a_plain_command_may_log_records_that_were_not_asked_for():
    fewer = replace(planted.EQUAL, records_compared=40)
    assert why_not_repeated(planted.plain(repeats=(fewer,))) is None
    longer = planted.on_run(1, num_records=50)(planted.plain(repeats=(fewer,)))
    assert why_not_repeated(longer) == Objection(f"{SECOND} has 50 records, {FIRST} has 49")


def test_no_run_is_no_proof():
    assert why_not_two_runs(planted.NO_RUNS) == Objection("two runs are needed, and there is none")


def test_a_plain_command_without_a_name_is_no_proof():
    evidence = planted.in_runs("run", "recipe", "")(planted.plain())
    assert why_not_two_runs(evidence) == Objection(f"{FIRST}: a run of '', but '' was requested")


def test_the_golden_counts_only_where_there_is_one_and_a_run():
    why = "there is no golden, or no run to compare with it"
    assert why_not_golden(planted.clean(golden=None)) == Objection(why)
    assert why_not_golden(planted.clean(runs=())) == Objection(why)
    assert why_not_golden(planted.clean()) is None
    assert why_not_golden(planted.on_golden(comparison=planted.CLOSE)(planted.clean())) is None


def test_a_golden_longer_than_the_run_was_not_compared_in_full():
    assert why_not_golden(planted.on_golden(num_records=200)(planted.clean())) == Objection(
        "only 49 of 200 records were compared"
    )
    assert why_not_golden(planted.on_run(0, num_records=50)(planted.clean())) == Objection(
        "only 49 of 50 records were compared"
    )
    assert why_not_golden(planted.on_golden(num_records=0)(planted.clean())) == Objection(
        "the golden's records were not counted"
    )


def test_two_runs_that_agree_leave_a_chance_of_95_percent_that_one_more_differs():
    assert chance_of_another(2) == pytest.approx(0.95)


@pytest.mark.parametrize("num_runs", [0, 1])
def test_runs_that_were_never_repeated_prove_nothing(num_runs):
    assert chance_of_another(num_runs) == 1.0


@pytest.mark.parametrize("num_runs", [2, 3, 5, 10, 60, 100])
def test_at_the_bound_so_many_runs_agree_by_chance_once_in_twenty(num_runs):
    assert (1 - chance_of_another(num_runs)) ** (num_runs - 1) == pytest.approx(0.05)


def test_a_run_whose_surroundings_were_varied_on_purpose_is_not_one_of_a_pair():
    varied = planted.in_run("run", "varied", {"names": ["umask"]})(planted.clean())
    assert "its conditions were varied on purpose" in why_not_two_runs(varied).reason
