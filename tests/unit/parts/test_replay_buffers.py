"""The replay buffer: what goes in comes out, the oldest goes first, and it survives a checkpoint."""

import io

import numpy as np
import pytest
import torch

from recipes.parts.replay_buffers import ReplayBuffer
from recipes.parts.replay_sampling import sampler_of

KINDS = ("uniform", "time_balanced", "time_balanced_naive", "prioritised")


def buffer_of(kind="uniform", *, capacity=20, seed=0):
    sampler = sampler_of(kind, capacity, np.random.default_rng(seed))
    return ReplayBuffer(capacity, observation_size=3, sampler=sampler)


def add(buffer, *numbers):
    """Transitions that can be told by their number."""
    for number in numbers:
        buffer.add(
            np.full(3, number, dtype=np.float32),
            action=number % 4,
            reward=number / 2,
            next_observation=np.full(3, number + 0.5, dtype=np.float32),
            terminated=number % 3 == 0,
        )


def test_transitions_come_out_whole():
    buffer = buffer_of()
    add(buffer, *range(12))
    batch = buffer.sample(200)
    numbers = batch.observations[:, 0]
    assert set(numbers) == set(range(12))
    assert (batch.observations == numbers[:, None]).all()
    assert (batch.next_observations == numbers[:, None] + 0.5).all()
    assert (batch.actions == numbers % 4).all()
    assert (batch.rewards == numbers / 2).all()
    assert (batch.terminated == (numbers % 3 == 0)).all()
    assert (batch.places == numbers).all()


def test_the_oldest_transitions_make_room():
    buffer = buffer_of(capacity=20)
    add(buffer, *range(33))
    assert len(buffer) == 20
    assert set(buffer.sample(1000).observations[:, 0]) == set(range(13, 33))


def test_nothing_can_be_drawn_from_an_empty_buffer():
    with pytest.raises(ValueError, match="empty"):
        buffer_of().sample(1)


def test_what_was_drawn_is_a_copy():
    buffer = buffer_of(capacity=1)
    add(buffer, 5)
    buffer.sample(1).observations[:] = -1
    assert (buffer.sample(1).observations == 5).all()


@pytest.mark.parametrize("kind", ["uniform", "prioritised"])
def test_parts_of_a_batch_are_the_batch(kind):
    buffer = buffer_of(kind)
    add(buffer, *range(12))
    batch = buffer.sample(12)
    assert [len(part.actions) for part in batch.parts(3)] == [4, 4, 4]
    for name, column in batch._asdict().items():
        if column is not None:
            together = np.concatenate([getattr(part, name) for part in batch.parts(3)])
            assert (together == column).all(), name


def saved_and_loaded(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [5, 20, 33])
def test_a_buffer_goes_on_from_a_checkpoint_bit_for_bit(kind, number):
    one, other = buffer_of(kind), buffer_of(kind, seed=99)
    add(one, *range(number))
    one.sample(8)
    other.load_state_dict(saved_and_loaded(one.state_dict()))
    other.sampler.generator.bit_generator.state = one.sampler.generator.bit_generator.state
    for i in range(number, number + 50):
        batch, same = one.sample(8), other.sample(8)
        for name, column in batch._asdict().items():
            assert np.array_equal(column, getattr(same, name)), name
        for buffer in (one, other):
            add(buffer, i)
            buffer.sampler.learned(batch.places, batch.rewards)


def test_a_buffer_of_another_size_is_refused():
    one = buffer_of(capacity=20)
    add(one, *range(20))
    with pytest.raises(ValueError, match="replay observations"):
        buffer_of(capacity=10).load_state_dict(one.state_dict())
