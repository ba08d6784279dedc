"""The results over seeds, as the HTML report shows them below the row ``statistics``."""

import pytest

from reprokit.core.verdicts.rows import CheckResult, Status
from reprokit.reports.formats.results_over_seeds import results_over_seeds

RESULT = {"estimate": 0.5, "low": 0.25, "high": 0.75, "values": {"3": 0.25, "4": 0.5, "6": 0.75}}


def row(results, *, name="statistics"):
    evidence = {} if results is ... else {"results": results}
    return CheckResult(
        id=name, title="Statistics", status=Status.PASSED, reason="1 result estimated", evidence=evidence
    )


def test_a_result_is_a_line_with_its_interval_and_every_seed():
    (line,) = results_over_seeds(row({"eval/return": RESULT}))
    assert line == (
        "eval/return: mean 0.5, 95 % interval 0.25 to 0.75 (seed 3: 0.25, seed 4: 0.5, seed 6: 0.75)"
    )


def test_seeds_that_all_ended_alike_have_no_interval():
    equal = {"estimate": 500.0, "method": "equal_values", "values": {"3": 500.0, "4": 500.0}}
    assert results_over_seeds(row({"r": equal})) == ("r: mean 500.0 (seed 3: 500.0, seed 4: 500.0)",)


def test_many_seeds_are_cut_and_counted():
    many = {**RESULT, "values": {str(seed): 0.5 for seed in range(25)}}
    (line,) = results_over_seeds(row({"r": many}))
    assert line.endswith("seed 19: 0.5, 5 more in report.json)")


def test_no_other_row_has_them():
    assert results_over_seeds(row({"r": RESULT}, name="several_seeds")) == ()


@pytest.mark.parametrize("results", [..., None, [], {"r": None}])
def test_a_report_that_was_written_otherwise_is_no_error(results):
    assert results_over_seeds(row(results)) == ()


def test_what_a_program_named_cannot_break_the_line():
    (line,) = results_over_seeds(row({"a\nb\x1b[31m": {**RESULT, "values": {"3\n": "\x1b"}}}))
    assert "\n" not in line
    assert "\x1b" not in line
