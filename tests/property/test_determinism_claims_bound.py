"""The bound that repeats without a difference give: it is the chance at which they would be a surprise."""

from hypothesis import given
from hypothesis import strategies as st

from reprokit.core.determinism_claims import chance_bound

REPEATS = st.integers(min_value=2, max_value=10_000)
CONFIDENCE = st.floats(min_value=0.5, max_value=0.999)


@given(REPEATS, CONFIDENCE)
def test_at_the_bound_no_difference_is_as_unlikely_as_the_confidence_asks(repeats, confidence):
    bound = chance_bound(repeats, confidence=confidence)
    assert 0 < bound < 1
    assert abs((1 - bound) ** (repeats - 1) - (1 - confidence)) < 1e-6


@given(REPEATS, CONFIDENCE)
def test_more_repeats_bound_it_lower_and_more_confidence_higher(repeats, confidence):
    bound = chance_bound(repeats, confidence=confidence)
    assert chance_bound(repeats + 1, confidence=confidence) < bound
    assert chance_bound(repeats, confidence=(1 + confidence) / 2) > bound


@given(st.integers(min_value=2, max_value=30))
def test_an_operation_at_the_bound_of_thirty_is_seen_to_differ_at_least_so_often(repeats):
    seen = 1 - (1 - chance_bound(30)) ** (repeats - 1)
    assert (seen >= 0.95) is (repeats >= 30) or abs(seen - 0.95) < 1e-9
