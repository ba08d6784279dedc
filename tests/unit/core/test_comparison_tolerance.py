"""Tolerances: which are granted, which are refused."""

import math

import pytest

from reprokit.core.comparison import Tolerance, Tolerances
from reprokit.errors import UsageError


@pytest.mark.parametrize("wrong", [-1.0, -1e-300, math.nan, math.inf, -math.inf, True, "1e-6", None])
@pytest.mark.parametrize("name", ["rtol", "atol"])
def test_nonsense_is_a_usage_error(name, wrong):
    with pytest.raises(UsageError, match=f"^{name} is not a tolerance") as refused:
        Tolerance(**{name: wrong})
    assert refused.value.exit_code == 2


def test_the_default_is_exact():
    assert Tolerance().exact
    assert not Tolerance().accepts(0.1, 0.1 + 2**-56)
    assert Tolerance(rtol=0, atol=0).accepts(1, 1.0)


def test_the_formula_is_relative_to_expected():
    assert Tolerance(rtol=0.1).accepts(110.0, 99.0)
    assert not Tolerance(rtol=0.1).accepts(99.0, 110.0)
    assert Tolerance(rtol=0.1, atol=1.0).accepts(99.0, 109.5)


def test_integers_that_no_float_holds_are_compared_exactly():
    assert not Tolerance(rtol=1e-30).accepts(10**29, 10**29 + 1)
    assert Tolerance(rtol=1e-28).accepts(10**29, 10**29 + 1)
    assert Tolerance(atol=1.0).accepts(10**400, 10**400 + 1)
    assert not Tolerance(atol=1.0).accepts(10**400, 10**400 + 2)


def test_errors_and_bounds_beyond_float64_are_computed_exactly():
    assert Tolerance(rtol=2.0).accepts(1.5e308, -1.5e308)
    assert not Tolerance(rtol=1.9).accepts(1.5e308, -1.5e308)
    assert Tolerance(rtol=2.0).accepts(1.5e308, 1.5e308 - 1e300)


def test_what_is_inside_has_the_tolerance_too():
    assert Tolerance(atol=0.5).accepts({"a": [1.0, "x"]}, {"a": [1.5, "x"]})
    assert not Tolerance(atol=0.5).accepts({"a": [1.0, "x"]}, {"a": [1.5, "y"]})
    assert not Tolerance(atol=9.0).accepts([1.0], [1.0, 1.0])


def test_a_metric_can_have_one_of_its_own():
    tolerances = Tolerances(default=Tolerance(atol=1.0), metrics={"loss": Tolerance()})
    assert tolerances.of("loss").exact
    assert tolerances.of("kl").atol == 1.0
