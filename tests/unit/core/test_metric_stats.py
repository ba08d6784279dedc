"""What is kept of one metric: the same, whether pairs come one by one or as a column."""

import itertools

import numpy as np
import pytest

from reprokit.core.comparing.metric_stats import Tally
from reprokit.core.tolerance import Tolerance

NUMBERS = (0.0, -0.0, 1.0, -1.0, 1.5, 5e-324, 1e300)
PAIRS = list(itertools.product(NUMBERS, repeat=2))
TOLERANCES = (Tolerance(), Tolerance(atol=0.5), Tolerance(rtol=0.5), Tolerance(rtol=0.5, atol=0.25))


def of_column(pairs, tolerance):
    tally = Tally(tolerance)
    expected, actual = (np.array(side) for side in zip(*pairs, strict=True))
    return tally, tally.see_column(expected, actual)


def one_by_one(pairs, tolerance):
    tally = Tally(tolerance)
    return tally, [tally.see(*pair, step=None) is not None for pair in pairs]


@pytest.mark.parametrize("tolerance", TOLERANCES, ids=str)
def test_a_column_is_counted_as_its_pairs_are(tolerance):
    series = [*([pair] for pair in PAIRS), *([one, other] for one in PAIRS for other in PAIRS[::9]), PAIRS]
    for pairs in series:
        column, beyond = of_column(pairs, tolerance)
        single, off = one_by_one(pairs, tolerance)
        assert (column, beyond.tolist()) == (single, off), pairs


@pytest.mark.parametrize("tolerance", TOLERANCES, ids=str)
def test_integers_are_counted_as_the_floats_that_they_equal(tolerance):
    pairs = [pair for pair in PAIRS if all(str(value) in {"0.0", "1.0", "-1.0"} for value in pair)]
    for expected, actual in pairs:
        floats, whole = Tally(tolerance), Tally(tolerance)
        assert (floats.see(expected, actual, step=1) is None) is (
            whole.see(int(expected), int(actual), step=1) is None
        )
        assert floats == whole


def test_the_largest_errors_are_kept_and_the_first_step():
    tally = Tally(Tolerance(atol=0.25))
    for step, actual in enumerate([1.25, 1.5, 3.0, 2.0]):
        tally.see(1.0, actual, step=step)
    summary = tally.summary()
    assert (summary.mismatches, summary.first_step) == (3, 1)
    assert (summary.max_abs_error, summary.max_rel_error) == (2.0, 2.0)
    assert (tally.identical, tally.compared, tally.has_value, tally.has_nan) == (False, True, True, False)


@pytest.mark.parametrize(("pair", "error"), [((0.0, -0.0), 0.0), ((0.0, 1.0), None), ((2.0, 3.0), 0.5)])
def test_an_error_relative_to_zero_is_left_out_unless_it_is_none(pair, error):
    tally = Tally(Tolerance())
    assert tally.see(*pair, step=1) == ("", *pair)
    assert tally.max_rel_error == error


@pytest.mark.parametrize(
    ("pair", "has_value", "has_nan"),
    [
        ((None, None), False, False),
        ((float("nan"), float("nan")), False, True),
        ((float("nan"), None), False, True),
        ((None, 1), True, False),
        (([1.0, None], [1.0, None]), True, False),
        (("", ""), True, False),
    ],
)
def test_null_and_nan_are_no_values(pair, has_value, has_nan):
    tally = Tally(Tolerance())
    tally.see(*pair, step=1)
    assert (tally.has_value, tally.has_nan, tally.compared) == (has_value, has_nan, True)
