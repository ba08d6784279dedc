"""What an episode can be worth at most, and that values beyond it are told."""

import math

import pytest

from recipes.parts.value_bounds import judge_values, value_bound, warn_beyond_bound


@pytest.mark.parametrize(
    ("gamma", "num_steps", "expected"),
    [(0.99, 500, sum(0.99**t for t in range(500))), (1.0, 7, 7.0), (0.0, 9, 1.0), (0.5, 3, 1.75)],
)
def test_the_bound_of_the_values_is_the_discounted_sum_of_the_largest_reward(gamma, num_steps, expected):
    assert value_bound(1.0, gamma=gamma, num_steps=num_steps) == pytest.approx(expected)
    assert value_bound(2.0, gamma=gamma, num_steps=num_steps) == pytest.approx(2 * expected)


@pytest.mark.parametrize(
    ("magnitude", "reward", "beyond"), [(99.0, 1.0, 0), (99.5, 1.0, 1), (math.nan, 1.0, 1), (5.0, 0.0, 0)]
)
def test_values_beyond_their_bound_are_told_once(capsys, magnitude, reward, beyond):
    record = {"q/magnitude": magnitude}
    record |= judge_values(record, reward, gamma=0.99, num_steps=500)
    assert record["q/beyond_bound"] == beyond
    assert warn_beyond_bound(record, step=7, already=False) is bool(beyond)
    assert warn_beyond_bound(record, step=8, already=True) is bool(beyond)
    told = capsys.readouterr().err
    assert told.count("warning: step") == beyond
    if beyond:
        assert "step 7: values of up to" in told
