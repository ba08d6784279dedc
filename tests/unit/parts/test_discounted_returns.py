"""Discounted returns run over rollouts, end with episodes, and continue from their state."""

import numpy as np

from recipes.parts.discounted_returns import DiscountedReturns

REWARDS = np.ones((4, 2), dtype=np.float32)
DONE = np.zeros((4, 2), dtype=bool)
DONE[1, 0] = True


def test_each_return_is_gamma_times_the_one_before_and_the_reward_and_ends_with_its_episode():
    following = DiscountedReturns(2)
    found = following.follow(REWARDS, DONE, gamma=0.5)
    np.testing.assert_allclose(found, [[1, 1], [1.5, 1.5], [1, 1.75], [1.5, 1.875]])
    np.testing.assert_allclose(following.now, [1.5, 1.875])


def test_two_rollouts_are_as_one_also_from_a_saved_state():
    whole, halves = DiscountedReturns(2), DiscountedReturns(2)
    expected = whole.follow(REWARDS, DONE, gamma=0.9)
    first = halves.follow(REWARDS[:2], DONE[:2], gamma=0.9)
    other = DiscountedReturns(2)
    other.load_state_dict(halves.state_dict())
    np.testing.assert_array_equal(
        np.concatenate([first, other.follow(REWARDS[2:], DONE[2:], gamma=0.9)]), expected
    )
