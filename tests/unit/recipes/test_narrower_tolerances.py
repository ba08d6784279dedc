"""What two declarations of tolerances both grant."""

from __future__ import annotations

import pytest

from reprokit.core.tolerance import Tolerance
from reprokit.errors import UsageError
from reprokit.recipes import NarrowerTolerances, tolerances_from

BLESSED = {"default": {"rtol": 0, "atol": 0}, "metrics": {"loss/*": {"rtol": 1e-6, "atol": 0.5}}}
TYPED = {"default": {"rtol": 0.1}, "metrics": {"loss/*": {"rtol": 1e-5, "atol": 0.1}}}


@pytest.mark.parametrize("turned", [False, True])
def test_the_smaller_term_of_each_counts_whichever_side_declares_it(turned):
    one, other = (tolerances_from(data) for data in ((TYPED, BLESSED) if turned else (BLESSED, TYPED)))
    both = NarrowerTolerances(one=one, other=other)
    assert both.of("loss/policy") == Tolerance(rtol=1e-6, atol=0.1)
    assert both.of("eval/mean") == Tolerance()


def test_what_says_nothing_grants_nothing():
    assert tolerances_from({}).of("loss/policy") == Tolerance()


@pytest.mark.parametrize("term", [-1, float("nan"), float("inf"), "1", True])
def test_what_is_no_tolerance_is_refused(term):
    with pytest.raises(UsageError, match="not a tolerance"):
        tolerances_from({"default": {"rtol": term}})


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("typed", "blessed", "counts"),
    [
        ({"rtol": 0.1, "mean_of": 10}, {"rtol": 0.01, "mean_of": 10}, Tolerance(rtol=0.01, mean_of=10)),
        ({"rtol": 0.1, "mean_of": 10}, {"atol": 0.1, "mean_of": 10}, Tolerance()),
        ({"rtol": 0.1, "mean_of": 10}, {"rtol": 0.1, "mean_of": 5}, Tolerance()),
        ({"rtol": 0.1, "mean_of": 10}, {"rtol": 0.1}, Tolerance()),
        ({"rtol": 0.1, "mean_of": 10}, {}, Tolerance()),
    ],
)
def test_of_means_and_values_only_what_both_grant_counts(typed, blessed, counts, turned):
    one, other = (tolerances_from({"metrics": {"loss": terms}}) for terms in (typed, blessed))
    both = NarrowerTolerances(one=other, other=one) if turned else NarrowerTolerances(one=one, other=other)
    assert both.of("loss") == counts
