"""Evaluations play one greedy episode in each environment, and touch no generator of the training."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from recipes.parts.evaluation import evaluate, final_record  # noqa: E402


@pytest.fixture
def spec():
    return replace(gymnasium.spec("CartPole-v1"), max_episode_steps=20)


def always_left(observations):
    return np.tile(np.array([50.0, -50.0], dtype=np.float32), (len(observations), 1))


def test_evaluation_draws_from_no_global_generator(spec):
    before = torch.get_rng_state()
    numpy_before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = evaluate(spec, always_left, num_episodes=5, seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    np.testing.assert_array_equal(evaluate(spec, always_left, num_episodes=5, seed=3), first)
    assert (
        len({float(evaluate(spec, always_left, num_episodes=20, seed=seed).sum()) for seed in range(9)}) > 1
    )


def test_an_evaluation_counts_one_episode_of_each_environment(spec):
    returns = evaluate(spec, always_left, num_episodes=50, seed=0)
    assert returns.shape == (50,)
    assert np.all((returns >= 8) & (returns <= 11))  # a pole that is always pushed left


def test_an_evaluation_is_cut_off_at_the_limit():
    spec = replace(gymnasium.spec("CartPole-v1"), max_episode_steps=5)
    assert evaluate(spec, always_left, num_episodes=3, seed=0).tolist() == [5.0, 5.0, 5.0]


def test_its_resets_are_told_what_it_is_told(spec):
    seen = []

    def look(observations):
        seen.append(observations.copy())
        return always_left(observations)

    evaluate(spec, look, num_episodes=3, seed=0, reset_options={"low": 0.01, "high": 0.01})
    np.testing.assert_allclose(seen[0], 0.01)


def test_a_success_is_an_episode_that_returned_enough():
    record = final_record(np.array([1.0, 2.0, 3.0, 6.0]), 3.0)
    assert record["final/success_rate"] == 0.5
    assert (record["final/return_min"], record["final/return_mean"], record["final/return_max"]) == (1, 3, 6)
