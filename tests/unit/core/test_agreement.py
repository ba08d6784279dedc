"""When evidence proves that runs agree, and what it says when it does not."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.core.agreement import (
    agreement,
    chance_of_another,
    difference,
    differing,
    differing_trace,
    not_golden,
    not_repeated,
    not_two_of_one_thing,
    unlike,
)
from reprokit.core.comparison import Divergence


def _load(name):
    path = Path(__file__).parents[1] / "checks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


planted = _load("planted")
FIRST, SECOND = (run.path for run in planted.clean().runs)


def test_equal_numbers_in_every_record_agree():
    assert agreement(planted.EQUAL, records=49) == ""
    assert agreement(planted.EQUAL, records=49, tolerant=True) == ""


def test_one_record_of_one_metric_is_enough_to_agree():
    one = replace(planted.EQUAL, records_compared=1, metrics_compared=1)
    assert agreement(one, records=1) == ""
    assert (
        not_golden(
            planted.both(planted.on_golden(num_records=1, comparison=one), planted.on_run(0, num_records=1))(
                planted.clean()
            )
        )
        == ""
    )


def test_a_warning_that_both_sides_share_does_not_matter():
    problem = replace(planted.TORN.problems[0], kind="duplicate_step", side="both", severity="warning")
    assert agreement(replace(planted.EQUAL, problems=(problem,)), records=49) == ""
    both = replace(planted.EQUAL, problems=(problem, planted.TORN.problems[0]))
    assert agreement(both, records=49) == "torn_line in the actual file: cut off"


@pytest.mark.parametrize(
    ("comparison", "why"),
    [
        (None, "the numbers were never compared"),
        (replace(planted.EQUAL, records_compared=0), "not one number could be compared"),
        (replace(planted.EQUAL, records_compared=-1), "not one number could be compared"),
        (replace(planted.EQUAL, metrics_compared=0), "not one number could be compared"),
        (planted.TORN, "torn_line in the actual file: cut off"),
        (planted.DIFFERENT, "the numbers differ"),
        (planted.CLOSE, "the numbers differ"),
        (replace(planted.EQUAL, identical=1), "the numbers differ"),
        (replace(planted.EQUAL, records_compared=48), "only 48 of 49 records were compared"),
        (replace(planted.EQUAL, records_compared=50), "only 50 of 49 records were compared"),
    ],
)
def test_anything_less_does_not_and_says_why(comparison, why):
    assert agreement(comparison, records=49) == why


def test_close_numbers_agree_only_where_a_tolerance_is_meant():
    assert agreement(planted.CLOSE, records=49, tolerant=True) == ""
    beyond = replace(planted.CLOSE, within_tolerance=False)
    assert agreement(beyond, records=49, tolerant=True) == "the numbers differ"
    assert (
        agreement(replace(planted.CLOSE, within_tolerance=1), records=49, tolerant=True)
        == "the numbers differ"
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


def test_a_difference_without_a_step_is_told_by_its_record():
    first = Divergence(record=0, step=None, metric=None, expected={}, actual=None, what="missing record")
    assert difference(replace(planted.DIFFERENT, divergence=first)) == "from record 0 on: missing record"
    silent = replace(first, what="", step=0)
    assert difference(replace(planted.DIFFERENT, divergence=silent)) == "from step 0 on: whole records differ"
    assert difference(replace(planted.DIFFERENT, divergence=None)) == "(nobody recorded where)"


def test_runs_of_one_thing_are_alike_although_folders_times_and_cores_differ():
    evidence = planted.both(
        planted.in_run("run", "started_at", "2026-11-20"),
        planted.in_run("run", "attempt", 2),
        planted.in_run("run", "limits", {"cpus": [1]}),
        planted.in_run("environment", "host.kernel", "6.2"),
    )(planted.clean())
    assert unlike(evidence.runs) == ""
    assert unlike(planted.plain().runs) == ""
    assert unlike(()) == ""


def test_runs_of_two_things_are_not_and_the_setting_is_named():
    other = planted.in_run("run", "device", "cuda")(planted.clean())
    assert unlike(other.runs) == f"{SECOND}: device is 'cuda', but 'cpu' in {FIRST}"
    assert unlike(planted.on_run(1, config=None)(planted.clean()).runs) == (
        f"{SECOND}: config.yaml is not that of {FIRST}"
    )


OTHER_THINGS = [
    ("recipe", "other"),
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
]


@pytest.mark.parametrize(("path", "value"), OTHER_THINGS)
def test_runs_of_two_things_neither_agree_nor_differ(path, value):
    evidence = planted.in_run("run", path, value)(
        planted.clean(repeats=(planted.DIFFERENT,), trace_repeats=(planted.OTHER_TRACE,))
    )
    assert unlike(evidence.runs)
    assert differing(evidence) is None
    assert differing_trace(evidence) is None
    assert not_repeated(replace(evidence, repeats=(planted.EQUAL,)))


def test_a_third_run_of_another_thing_is_found():
    evidence = planted.third_run(planted.clean())
    assert unlike(planted.in_run("run", "seed", 7, index=2)(evidence).runs).endswith(f"but 42 in {FIRST}")


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
    assert not_repeated(evidence) == "3 runs were compared 1 times"


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
    "one run only": "it takes two runs to judge, and there is only one",
    "no comparison": "2 runs were compared 0 times",
    "one comparison too many": "2 runs were compared 2 times",
    "only some records compared": "only 48 of 49 records were compared",
    "the first run is longer": f"{SECOND} has 49 records, {FIRST} has 50",
    "the second run is longer": f"{SECOND} has 50 records, {FIRST} has 49",
    "one folder twice": "one run folder is given twice",
    "a copied folder": f"{FIRST}: a copy of another run (20261120T101500Z-seed42-1)",
    "a run without a name": f"{SECOND}: run.json does not say which run it is",
    "a run with an empty name": f"{SECOND}: run.json does not say which run it is",
    "an exit code that is false": f"{FIRST}: run.json does not say that the run completed",
    "no outcome": f"{SECOND}: run.json does not say that the run completed",
    "a run of another seed": f"{SECOND}: seed is 43, but 42 in {FIRST}",
    "both runs of another seed": f"{FIRST}: the seed is 43, but 42 was asked for",
    "a seed in text": f"{FIRST}: run.json does not say which seed was used, but '42'",
    "runs of another recipe": f"{FIRST}: a run of 'mountaincar', but 'cartpole' was asked for",
    "a recipe without a name": f"{FIRST}: a run of 'cartpole', but None was asked for",
    "an exit code that is not 0": f"{SECOND}: run.json does not say that the run completed",
}


@pytest.mark.parametrize("fault", WHY)
def test_what_is_not_a_proof_of_repeatability_says_why(fault):
    assert not_repeated(planted.FAULTS["repeatable"][fault](planted.clean())) == WHY[fault]


def test_a_run_that_was_resumed_is_no_proof():
    resumed = planted.in_run("run", "resumed_from", "runs/cartpole/earlier")(planted.clean())
    assert not_two_of_one_thing(resumed).endswith("a resumed run holds only the later steps of a training")


def test_a_run_whose_name_is_no_text_has_none():
    why = f"{SECOND}: run.json does not say which run it is"
    assert not_repeated(planted.in_run("run", "run_id", 7)(planted.clean())) == why


def test_what_is_wrong_with_the_runs_is_told_before_what_is_wrong_with_their_comparisons():
    evidence = replace(planted.same_folder_twice(planted.clean()), repeats=())
    assert not_repeated(evidence) == "one run folder is given twice"


def test_without_a_seed_that_was_asked_for_the_runs_own_will_do():
    assert not_repeated(planted.clean(seed=None)) == ""


def test_two_agreeing_runs_are_a_proof():
    assert not_repeated(planted.clean()) == ""
    assert not_repeated(planted.plain()) == ""
    assert not_repeated(planted.third_run(planted.clean())) == ""


def test_a_plain_command_may_log_records_that_were_not_asked_for():
    fewer = replace(planted.EQUAL, records_compared=40)
    assert not_repeated(planted.plain(repeats=(fewer,))) == ""
    longer = planted.on_run(1, num_records=50)(planted.plain(repeats=(fewer,)))
    assert not_repeated(longer) == f"{SECOND} has 50 records, {FIRST} has 49"


def test_no_run_is_no_proof():
    assert not_two_of_one_thing(planted.NO_RUNS) == "it takes two runs to judge, and there is none"


def test_a_plain_command_without_a_name_is_no_proof():
    evidence = planted.in_runs("run", "recipe", "")(planted.plain())
    assert not_two_of_one_thing(evidence) == f"{FIRST}: a run of '', but '' was asked for"


def test_the_golden_counts_only_where_there_is_one_and_a_run():
    why = "there is no golden, or no run to hold against it"
    assert not_golden(planted.clean(golden=None)) == why
    assert not_golden(planted.clean(runs=())) == why
    assert not_golden(planted.clean()) == ""
    assert not_golden(planted.on_golden(comparison=planted.CLOSE)(planted.clean())) == ""


def test_a_golden_longer_than_the_run_was_not_compared_in_full():
    assert not_golden(planted.on_golden(num_records=200)(planted.clean())) == (
        "only 49 of 200 records were compared"
    )
    assert (
        not_golden(planted.on_run(0, num_records=50)(planted.clean()))
        == "only 49 of 50 records were compared"
    )
    assert (
        not_golden(planted.on_golden(num_records=0)(planted.clean())) == "nobody counted the golden's records"
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
    assert "its surroundings were varied on purpose" in not_two_of_one_thing(varied)
