"""Series of records compared with each other, without any files."""

import json
import math
import sys

import numpy as np
import pytest

from reprokit.core.comparing.comparer import Comparer
from reprokit.core.comparing.record_table import RecordTable
from reprokit.core.comparison import (
    Tolerance,
    Tolerances,
    compare_records,
    exit_code,
    to_json,
    unreadable,
)
from reprokit.errors import MetricsError

NAN, INF = math.nan, math.inf


def records(*losses, name="loss"):
    return [{"step": at * 256, name: loss} for at, loss in enumerate(losses)]


def kinds(comparison):
    return {problem.kind for problem in comparison.problems}


def test_the_first_divergence_is_described_in_full():
    comparison = compare_records(records(0.5, 0.25), records(0.5, 0.5))
    divergence = comparison.divergence
    assert (divergence.record, divergence.step, divergence.metric) == (1, 256, "loss")
    assert (divergence.expected, divergence.actual) == (0.25, 0.5)
    assert (divergence.abs_error, divergence.rel_error, divergence.ulps) == (0.25, 1.0, 2**52)
    assert divergence.what == "the values differ"
    assert exit_code(comparison) == 1


def test_the_order_within_a_record_is_expected_s_with_the_step_first():
    left = [{"b": 1.0, "a": 1.0, "step": 0}]
    assert compare_records(left, [{"step": 0, "a": 2.0, "b": 2.0}]).divergence.metric == "b"
    assert compare_records(left, [{"step": 1, "a": 2.0, "b": 2.0}]).divergence.metric == "step"


def test_the_first_mismatch_counts_not_the_largest():
    comparison = compare_records(records(1.0, 1.0, 1.0), records(1.0, 1.1, 9.0))
    assert comparison.divergence.record == 1
    assert comparison.per_metric["loss"].first_step == 256
    assert comparison.per_metric["loss"].max_abs_error == 8.0


def test_within_tolerance_is_not_identical_and_shows_how_far_it_is_off():
    tolerances = Tolerances(metrics={"loss": Tolerance(atol=0.5)})
    comparison = compare_records(records(1.0), records(1.25), tolerances=tolerances)
    assert exit_code(comparison) == 0
    assert comparison.within_tolerance
    assert not comparison.identical
    assert comparison.divergence is None
    assert comparison.per_metric["loss"].max_rel_error == 0.25
    assert comparison.per_metric["loss"].mismatches == 0


def test_series_that_end_at_different_times_differ_in_the_first_record_alone():
    comparison = compare_records(records(1.0, 2.0), records(1.0))
    assert comparison.divergence.record == 1
    assert comparison.divergence.step == 256
    assert comparison.divergence.expected == {"step": 256, "loss": 2.0}
    assert comparison.divergence.actual is None
    assert kinds(comparison) == {"missing_record"}
    assert comparison.records_compared == 1


@pytest.mark.parametrize(("left", "right"), [([], []), ([], records(1.0)), (records(1.0), [])])
def test_nothing_cannot_be_compared(left, right):
    comparison = compare_records(left, right)
    assert exit_code(comparison) == 2
    assert not comparison.identical
    assert "no_records" in kinds(comparison)


@pytest.mark.parametrize("record", [{"step": 0}, {}, {"step": 0, "loss": None}, {"step": 0, "loss": []}])
def test_records_without_a_value_prove_nothing(record):
    comparison = compare_records([record], [record])
    assert exit_code(comparison) == 2
    assert kinds(comparison) == {"no_values"}


def test_only_nan_is_equal_but_said():
    comparison = compare_records(records(NAN, NAN), records(NAN, NAN))
    assert exit_code(comparison) == 0
    assert comparison.identical
    assert kinds(comparison) == {"only_nan"}


def test_a_step_under_another_name_is_found_and_is_no_metric():
    comparison = compare_records([{"global_step": 3, "loss": 1.0}], [{"global_step": 3, "loss": 2.0}])
    assert comparison.divergence.step == 3
    assert comparison.metrics_compared == 1


def test_a_step_has_no_tolerance():
    loose = Tolerances(default=Tolerance(rtol=1.0, atol=9.0))
    assert (
        compare_records([{"step": 1, "a": 1}], [{"step": 2, "a": 1}], tolerances=loose).divergence.metric
        == "step"
    )


def test_an_ignored_step_is_not_compared():
    comparison = compare_records([{"step": 1, "a": 1}], [{"step": 2, "a": 1}], ignore=["step"])
    assert exit_code(comparison) == 0
    assert kinds(comparison) == {"ignored_metric"}


def test_an_ignored_metric_is_reported_with_its_pattern():
    comparison = compare_records(records(1.0, 2.0), records(3.0, 4.0), ignore=["l?ss"])
    messages = [problem.message for problem in comparison.problems if problem.kind == "ignored_metric"]
    assert messages == ["a metric was left out on request: 'loss' by the pattern 'l?ss'"]


def test_a_near_miss_is_suggested_for_an_unknown_metric():
    comparison = compare_records(records(1.0), records(1.0), metrics=["loss", "los"])
    assert exit_code(comparison) == 2
    assert "the nearest: 'loss'" in comparison.problems[0].message


def test_the_step_which_is_no_metric_is_not_suggested_for_itself():
    rows = [{"step": step, "loss": 1.0} for step in range(3)]
    comparison = compare_records(rows, rows, metrics=["step"])
    assert exit_code(comparison) == 2
    assert "the nearest: 'loss'" in comparison.problems[0].message


def test_a_renamed_metric_is_told_from_a_missing_one():
    assert "renamed_metric" in kinds(compare_records(records(1.0), records(1.0, name="objective")))
    assert kinds(compare_records(records(1.0), records(2.0, name="objective"))) >= {
        "missing_metric",
        "extra_metric",
    }


def test_names_that_look_alike_are_told_from_renamed_and_missing_ones():
    comparison = compare_records(records(1.0, name="caf\u00e9"), records(2.0, name="cafe\u0301"))
    assert [(one.kind, one.message) for one in comparison.problems] == [
        (
            "name_normalisation",
            "two names look alike and differ in Unicode normalisation: 'caf\\xe9' and 'cafe\\u0301'",
        )
    ]


def test_a_name_that_looks_alike_wins_over_one_with_the_same_value():
    (left,), (right,) = records(1.0, name="caf\u00e9"), records(2.0, name="cafe\u0301")
    found = kinds(compare_records([left], [{**right, "other": 1.0}]))
    assert found == {"name_normalisation", "extra_metric"}


def test_a_metric_that_is_asked_for_and_ignored_is_left_out_and_named_once():
    comparison = compare_records(records(1.0), records(1.0), metrics=["loss"], ignore=["loss"])
    assert [(one.kind, one.message) for one in comparison.problems] == [
        ("no_values", "there is no value to compare"),
        ("ignored_metric", "a metric was left out on request: 'loss' by the pattern 'loss'"),
    ]


@pytest.mark.parametrize(("sides", "word"), [((0, 1), "missing_metric"), ((1, 0), "extra_metric")])
def test_a_step_that_one_side_lacks_is_a_difference(sides, word):
    both = [{"step": 0, "loss": 1.0}], [{"loss": 1.0}]
    comparison = compare_records(*(both[side] for side in sides))
    assert [(one.kind, one.side, one.message.endswith(": 'step'")) for one in comparison.problems] == [
        (word, "actual", True)
    ]
    assert (comparison.divergence.metric, comparison.divergence.step) == ("step", 0)
    assert exit_code(comparison) == 1


def test_an_infinity_in_the_other_direction_has_a_word_of_its_own():
    assert kinds(compare_records(records(INF), records(-INF))) == {"infinity_placement"}


def test_strings_that_merely_differ_have_no_word_but_a_divergence():
    comparison = compare_records(records("a"), records("b"))
    assert (kinds(comparison), comparison.divergence.what) == (set(), "the strings differ")


def test_where_only_a_null_is_missing_the_missing_name_is_all_that_is_said():
    comparison = compare_records([{"step": 0, "a": None}], [{"step": 0}])
    assert (kinds(comparison), exit_code(comparison)) == ({"missing_metric"}, 1)


def test_an_integer_that_python_writes_in_no_decimals_is_written_in_hexadecimals():
    divergence = to_json(compare_records(records(2**13_001), records(0)))["divergence"]
    assert divergence["expected"] == hex(2**13_001)
    assert to_json(compare_records(records(2**12_999), records(0)))["divergence"]["expected"] == 2**12_999


@pytest.mark.parametrize("passes", [lambda one: one.skip(5), lambda one: one.unreadable()])
def test_steps_are_not_called_uneven_across_records_that_were_passed_over(passes):
    comparer = Comparer()
    for step in (0, 1):
        comparer.add({"step": step, "loss": 1.0}, {"step": step, "loss": 1.0})
    passes(comparer)
    comparer.add({"step": 7, "loss": 1.0}, {"step": 7, "loss": 1.0})
    assert comparer.finish().problems == ()


@pytest.mark.parametrize(("value", "word"), [(NAN, "NaN"), (INF, "Infinity"), (-INF, "-Infinity")])
def test_what_strict_json_does_not_have_is_a_word(value, word):
    assert to_json(compare_records(records(value), records(0.0)))["divergence"]["expected"] == word


def test_long_names_that_look_alike_are_cut():
    left, right = "caf\u00e9" + "x" * 100, "cafe\u0301" + "x" * 100
    (problem,) = compare_records(records(1.0, name=left), records(1.0, name=right)).problems
    assert problem.message.endswith(f": {ascii(left)[:80]} and {ascii(right)[:80]}")


def test_a_place_inside_a_value_is_named():
    left, right = ([{"step": 0, "eval": {"returns": [1.0, value]}}] for value in (2.0, 3.0))
    divergence = compare_records(left, right).divergence
    assert (divergence.metric, divergence.expected, divergence.actual) == ("eval", 2.0, 3.0)
    assert divergence.what == "the values differ, at .returns[1]"


def test_nesting_deeper_than_pythons_stack_is_compared():
    value = 1.0
    for _ in range(sys.getrecursionlimit() * 2):
        value = [value]
    assert exit_code(compare_records(records(value), records(value))) == 0


@pytest.mark.parametrize("wrong", [{"step": 0, "loss": {1, 2}}, {"step": 0, "loss": object()}, 7])
def test_what_json_does_not_have_is_an_error(wrong):
    with pytest.raises(MetricsError, match="record 0: a record cannot be compared"):
        compare_records([wrong], [wrong])


def test_more_names_than_memory_should_hold_are_an_error(monkeypatch):
    monkeypatch.setattr("reprokit.core.comparing.metric_names.MAX_NAMES", 10)
    many = {"step": 0, **{f"m{number}": 1.0 for number in range(11)}}
    comparison = compare_records([many], [many])
    assert exit_code(comparison) == 2
    assert "too_many_metrics" in kinds(comparison)


def test_json_is_strict_json_whatever_the_values():
    comparison = compare_records(
        [{"step": NAN, "a": 10**5000, "b": NAN, "c\ud800": 1.0}],
        [{"step": 1, "a": INF, "b": 1, "c\ud800": INF}],
    )
    text = json.dumps(to_json(comparison), allow_nan=False)
    assert json.loads(text)["divergence"]["expected"] == "NaN"
    assert json.loads(text)["per_metric"]["c\ud800"]["max_abs_error"] == "Infinity"


def test_json_has_the_words_of_the_contract():
    found = to_json(compare_records(records(1.0), records(2.0)))
    assert list(found) == [
        "identical",
        "within_tolerance",
        "records_compared",
        "metrics_compared",
        "divergence",
        "per_metric",
        "problems",
    ]
    assert set(found["divergence"]) >= {
        "record",
        "step",
        "metric",
        "expected",
        "actual",
        "abs_error",
        "rel_error",
        "ulps",
    }
    assert set(found["per_metric"]["loss"]) == {"max_abs_error", "max_rel_error", "mismatches", "first_step"}
    assert found["per_metric"]["loss"] == {
        "max_abs_error": 1.0,
        "max_rel_error": 1.0,
        "mismatches": 1,
        "first_step": 0,
    }


def test_an_error_becomes_a_comparison_that_cannot_be_made():
    comparison = unreadable(
        MetricsError("there is no such file", kind="missing_file", where="x"), side="actual"
    )
    assert exit_code(comparison) == 2
    assert to_json(comparison)["problems"][0]["kind"] == "missing_file"


def numbers(rng, count):
    return [
        {"step": at, **{name: float(rng.choice([rng.normal(), 0.0, -0.0, 1.0])) for name in "abc"}}
        for at in range(count)
    ]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("tolerance", [Tolerance(), Tolerance(atol=0.5), Tolerance(rtol=0.3)])
def test_a_table_is_compared_as_its_records_are(seed, tolerance):
    rng = np.random.default_rng(seed)
    left = numbers(rng, 40)
    right = [dict(record) for record in left]
    for _ in range(int(rng.integers(0, 6))):
        record, name = (
            right[rng.integers(40)],
            str(rng.choice(["a", "b", "c", "step"], p=[0.3, 0.3, 0.35, 0.05])),
        )
        record[name] = float(rng.choice([-record[name], record[name] + 0.5, record[name] * 1.25]))
    options = {"tolerances": Tolerances(default=tolerance), "ignore": ["c"] if seed % 3 == 0 else []}
    whole, one_by_one = Comparer(**options), Comparer(**options)
    tables = [
        RecordTable.of(list(side[0]), [cell for record in side for cell in record.values()])
        for side in (left, right)
    ]
    whole.add_table(*tables, first_lines=(1, 1))
    for line, pair in enumerate(zip(left, right, strict=True), start=1):
        one_by_one.add(*pair, lines=(line, line))
    assert whole.finish() == one_by_one.finish()


def test_a_table_that_lacks_the_step_of_earlier_records_is_seen_record_by_record():
    comparer = Comparer()
    comparer.add({"step": 0, "a": 1.0}, {"step": 0, "a": 1.0})
    table = RecordTable.of(["a"], [1.0, 2.0])
    comparer.add_table(table, table, first_lines=(2, 2))
    assert {problem.kind for problem in comparer.finish().problems} == {"missing_step"}


def test_a_table_without_any_step_is_compared():
    comparer = Comparer()
    comparer.add_table(
        RecordTable.of(["a"], [1.0, 2.0]), RecordTable.of(["a"], [1.0, 3.0]), first_lines=(1, 1)
    )
    divergence = comparer.finish().divergence
    assert (divergence.record, divergence.step, divergence.expected) == (1, None, 2.0)
