"""Replay buffers over many histories: sums, borders, and what a checkpoint brings back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipes.parts.replay_buffers import ReplayBuffer
from recipes.parts.replay_sampling import sampler_of
from recipes.parts.sum_tree import SumTree

KINDS = ("uniform", "time_balanced", "time_balanced_naive", "prioritised")
weights = st.lists(st.integers(0, 50), min_size=1, max_size=40).filter(any)
histories = st.tuples(
    st.sampled_from(KINDS), st.integers(1, 30), st.integers(1, 120), st.integers(0, 2**32 - 1)
)


def buffer_of(kind, capacity, number, seed):
    sampler = sampler_of(kind, capacity, np.random.default_rng(seed))
    buffer = ReplayBuffer(capacity, observation_size=1, sampler=sampler)
    for i in range(number):
        seen = np.array([i], dtype=np.float32)
        buffer.add(seen, action=i, reward=i, next_observation=seen + 1, terminated=False)
        if i % 3 == 0:
            batch = buffer.sample(2)
            sampler.learned(batch.places, np.sin(batch.rewards).astype(np.float32))
    return buffer


@given(weights)
def test_every_whole_number_below_the_total_finds_the_leaf_whose_turn_it_is(weights):
    tree = SumTree(len(weights))
    tree.set(np.arange(len(weights)), np.array(weights, dtype=float))
    expected = np.repeat(np.arange(len(weights)), weights)
    assert tree.total == len(expected)
    assert tree.find(np.arange(len(expected), dtype=float)).tolist() == expected.tolist()


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40).filter(any), st.floats(0, 1, exclude_max=True))
def test_what_is_found_always_has_a_weight(weights, share):
    tree = SumTree(len(weights))
    tree.set(np.arange(len(weights)), np.array(weights))
    assert weights[int(tree.find(np.array([share * tree.total]))[0])] > 0


@given(histories)
@settings(deadline=None)
def test_what_is_drawn_was_stored_and_not_yet_overwritten(history):
    kind, capacity, number, _ = history
    batch = buffer_of(*history).sample(16)
    assert set(batch.actions) <= set(range(max(0, number - capacity), number))
    assert (batch.observations[:, 0] == batch.actions).all()
    assert (batch.places == batch.actions % capacity).all()
    assert (batch.weights is None) == (kind != "prioritised")


@given(histories)
@settings(deadline=None)
def test_chances_are_chances(history):
    chances = buffer_of(*history).sampler.probabilities()
    assert len(chances) == min(history[1], history[2])
    assert chances.min() >= -1e-12
    assert chances.sum() == pytest.approx(1)


@given(histories, st.integers(0, 40))
@settings(deadline=None)
def test_a_buffer_from_a_checkpoint_draws_as_the_one_that_was_never_stopped(history, more):
    kind, capacity, *_ = history
    one, other = buffer_of(*history), buffer_of(kind, capacity, 1, 0)
    other.load_state_dict(one.state_dict())
    other.sampler.generator.bit_generator.state = one.sampler.generator.bit_generator.state
    for i in range(more + 1):
        batch, same = one.sample(4), other.sample(4)
        assert batch.places.tolist() == same.places.tolist()
        assert batch.rewards.tolist() == same.rewards.tolist()
        for buffer in (one, other):
            seen = np.array([-i], dtype=np.float32)
            buffer.add(seen, action=i, reward=-i, next_observation=seen, terminated=True)


@given(st.integers(1, 60), st.integers(1, 300), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_both_forms_of_time_balance_draw_the_same(capacity, number, seed):
    fast, plain = (
        sampler_of(kind, capacity, np.random.default_rng(seed))
        for kind in ("time_balanced", "time_balanced_naive")
    )
    for i in range(number):
        fast.added(i % capacity)
        plain.added(i % capacity)
    assert fast.probabilities() == pytest.approx(plain.probabilities(), rel=1e-8, abs=1e-12)
    assert fast.draw(64)[0].tolist() == plain.draw(64)[0].tolist()
