"""Windows of curves, against their definitions."""

import math

import numpy as np
import pytest
import scipy.integrate
from hypothesis import given, settings
from hypothesis import strategies as st

from reprokit.core.statistics.windows import Window

STEPS = np.array([256.0, 512, 1024, 2048])
CURVES = np.array([[1.0, 5, 3, 4], [2.0, 2, 8, 6]])
NAMES = ["last", "mean_last_3", "best_high", "best_low", "auc", "auc_mean"]


def of(name, values=CURVES, steps=STEPS):
    return Window.parse(name).of(steps, np.asarray(values, dtype=float))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("last", [4, 6]),
        ("mean_last_1", [4, 6]),
        ("mean_last_3", [4, 16 / 3]),
        ("best_high", [5, 8]),
        ("best_low", [1, 2]),
        ("first_step_at_least_4", [512, 1024]),
        ("first_step_at_most_2", [256, 256]),
        ("first_step_at_least_1e-3", [256, 256]),
    ],
)
def test_each_window_is_its_definition(name, expected):
    found = of(name)
    assert found.values == pytest.approx(expected)
    assert (found.refused, found.num_unreached, found.num_left_out.tolist()) == ("", 0, [0, 0])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 100), st.floats(-1e3, 1e3)), min_size=2, max_size=20),
)
def test_the_area_is_scipys(pairs):
    steps, values = np.cumsum([step for step, _ in pairs]).astype(float), [value for _, value in pairs]
    area = scipy.integrate.trapezoid(values, steps)
    assert of("auc", [values], steps).values[0] == pytest.approx(area, abs=1e-6)
    assert of("auc_mean", [values], steps).values[0] == pytest.approx(area / (steps[-1] - steps[0]), abs=1e-6)


def test_many_runs_at_once_are_each_as_alone():
    values = np.random.default_rng(0).normal(size=(20, 4))
    for name in (*NAMES, "first_step_at_least_1", "first_step_at_most_-1"):
        together = of(name, values).values
        assert together == pytest.approx([of(name, one[None]).values[0] for one in values], nan_ok=True)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_makes_the_window_so_or_is_counted(odd):
    values = [[1.0, odd, 3, 4], [2.0, 2, 8, 6]]
    for name in ("mean_last_3", "auc"):
        assert not np.isfinite(of(name, values).values[0])
        assert np.isfinite(of(name, values).values[1])
    assert of("last", values).values.tolist() == [4, 6]
    for name, expected in (("best_high", 4), ("best_low", 1), ("first_step_at_least_3", 1024)):
        assert (of(name, values).values[0], of(name, values).num_left_out.tolist()) == (expected, [1, 0])


def test_nothing_finite_has_no_best():
    assert np.isnan(of("best_high", [[math.nan] * 4]).values[0])


def test_who_never_reaches_the_threshold_is_counted():
    found = of("first_step_at_least_7")
    assert found.num_unreached == 1
    assert found.values == pytest.approx([math.nan, 1024], nan_ok=True)


def test_equal_values_have_that_mean_exactly():
    assert of("mean_last_3", [[9.0, 0.1, 0.1, 0.1]]).values[0] == 0.1


@pytest.mark.parametrize(
    ("name", "steps", "words"),
    [
        ("mean_last_5", STEPS, "a run has 4 of the 5 values that it takes"),
        ("auc", STEPS[::-1], "do not rise"),
        ("auc_mean", np.zeros(4), "do not rise"),
    ],
)
def test_what_has_no_such_number_says_why(name, steps, words):
    found = of(name, steps=steps)
    assert words in found.refused
    assert np.isnan(found.values).all()


def test_one_record_has_no_area_and_none_has_nothing():
    assert of("auc", [[1.0]], STEPS[:1]).refused == "one value has no area below it"
    assert of("last", np.empty((1, 0)), STEPS[:0]).refused == "no value was recorded"


@pytest.mark.parametrize(
    "name", [*NAMES, "mean_last_10", "first_step_at_least_475", "first_step_at_most_-0.5"]
)
def test_a_name_is_the_name_of_its_window(name):
    assert Window.parse(name).name == name


@pytest.mark.parametrize(
    "name",
    ["", "mean_last_0", "mean_last_-1", "mean", "first_step_at_least_nan", "first_step_at_least_inf", "LAST"],
)
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="there is no window"):
        Window.parse(name)


def test_a_threshold_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="there is no window"):
        Window.parse("first_step_at_least_high")
