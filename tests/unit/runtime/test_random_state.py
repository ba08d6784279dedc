"""Random states and environments: taken, put back, and going on as if nothing had happened."""

# ruff: noqa: NPY002 - the global generators of numpy are what is tested

import io
import random

import gymnasium
import numpy as np
import pytest
import torch

from reprokit.errors import CannotRunError
from reprokit.runtime import random_state

pytestmark = pytest.mark.usefixtures("global_state")


def through_a_file(state):
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)


def drawn():
    return [
        random.random(),
        random.gauss(0, 1),
        *np.random.rand(2),
        np.random.randn(),
        *torch.rand(2).tolist(),
        torch.randn(1).item(),
    ]


def test_every_global_generator_goes_on_where_it_was():
    random.gauss(0, 1)  # leaves a spare number behind, which is a part of the state
    np.random.randn()
    state = through_a_file(random_state.capture())
    expected = drawn()
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    random_state.restore(state)
    assert drawn() == expected


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_a_numpy_generator_of_any_kind_goes_on_where_it_was(bits):
    generator = np.random.Generator(bits(3))
    generator.integers(0, 10, dtype=np.uint32)  # leaves half a word behind
    state = through_a_file(random_state.capture(generators={"noise": generator}))
    expected = generator.random(5).tolist()
    random_state.restore(state, generators={"noise": generator})
    assert generator.random(5).tolist() == expected


def test_a_torch_generator_goes_on_where_it_was():
    generator = torch.Generator().manual_seed(3)
    state = through_a_file(random_state.capture(generators={"order": generator}))
    expected = torch.randperm(10, generator=generator)
    random_state.restore(state, generators={"order": generator})
    assert torch.equal(torch.randperm(10, generator=generator), expected)


def played(env, num_steps=400):
    seen = []
    for t in range(num_steps):
        observation, reward, terminated, truncated, _ = env.step(t % 3 % 2)
        seen.append((observation.tolist(), reward, terminated, truncated))
        if terminated or truncated:
            observation, _ = env.reset()
            seen.append(observation.tolist())
    return seen


@pytest.mark.parametrize("steps_before", [0, 1, 7, 250])
def test_an_environment_goes_on_where_it_was_simulator_and_limit_included(steps_before):
    env = gymnasium.make("CartPole-v1", max_episode_steps=9)
    env.reset(seed=11)
    played(env, steps_before)
    state = through_a_file(random_state.capture(environments=[env]))
    expected = played(env)
    other = gymnasium.make("CartPole-v1", max_episode_steps=9)
    other.reset(seed=99)
    played(other, 3)
    random_state.restore(state, environments=[other])
    assert played(other) == expected


def test_the_generator_of_an_action_space_goes_on_where_it_was():
    env = gymnasium.make("CartPole-v1")
    env.action_space.seed(5)
    state = through_a_file(random_state.environment_state(env))
    expected = [int(env.action_space.sample()) for _ in range(20)]
    random_state.restore_environment(env, state)
    assert [int(env.action_space.sample()) for _ in range(20)] == expected


def test_a_simulator_that_is_no_plain_data_is_named_and_not_skipped():
    class Handle:
        pass

    env = gymnasium.make("CartPole-v1")
    env.unwrapped.engine = Handle()
    with pytest.raises(CannotRunError, match=r"CartPoleEnv\.engine.*got Handle"):
        random_state.capture(environments=[env])


def test_another_stack_of_wrappers_is_refused():
    state = random_state.environment_state(gymnasium.make("CartPole-v1"))
    with pytest.raises(CannotRunError, match="another one"):
        random_state.restore_environment(gymnasium.make("CartPole-v1").unwrapped, state)


@pytest.mark.parametrize(("saved", "given"), [(["a"], ["a", "b"]), (["a", "b"], ["a"])])
def test_a_generator_that_only_one_side_has_is_named(saved, given):
    state = random_state.capture(generators={name: np.random.default_rng(0) for name in saved})
    with pytest.raises(CannotRunError, match="generator 'b'"):
        random_state.restore(state, generators={name: np.random.default_rng(0) for name in given})


def test_an_environment_more_or_less_is_refused():
    state = random_state.capture(environments=[])
    with pytest.raises(CannotRunError, match="has no environment 0"):
        random_state.restore(state, environments=[gymnasium.make("CartPole-v1")])
