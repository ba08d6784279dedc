"""PinPad's rules, and gymnasium's."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from recipes.parts.pinpad import ROOM, SPEC, PinPad
from reprokit.runtime import random_state

STAY, UP, DOWN, LEFT, RIGHT = range(5)


@pytest.fixture
def env():
    env = PinPad()
    env.reset(seed=0)
    return env


def put(env, row, column):
    env.row, env.column = row, column


def walk(env, *actions):
    return [env.step(np.int64(action)) for action in actions]


def test_gymnasium_finds_no_fault():
    check_env(gymnasium.make(SPEC, disable_env_checker=True, render_mode="ansi").unwrapped)


def test_the_right_order_is_paid_once_at_the_last_pad_and_ends_the_episode(env):
    put(env, 2, 3)
    steps = walk(env, LEFT, *[RIGHT] * 4, *[DOWN] * 4, LEFT)
    assert [reward for _, reward, *_ in steps] == [0.0] * 9 + [1.0]
    assert [terminated for _, _, terminated, *_ in steps] == [False] * 9 + [True]


@pytest.mark.parametrize("order", [(1, 3, 2), (2, 1, 3), (3, 2, 1), (2, 3, 1), (3, 1, 2)])
def test_any_other_order_is_worth_nothing(env, order):
    for pad in order:
        row, column = next(
            (r, c) for r, cells in enumerate(ROOM) for c, cell in enumerate(cells) if cell == str(pad)
        )
        put(env, row, column)
        ((_, reward, terminated, *_),) = walk(env, STAY)
        assert (reward, terminated) == (0.0, False)


def test_after_a_wrong_pad_the_whole_order_is_asked_for_again(env):
    for pad, (row, column) in ((1, (1, 1)), (3, (6, 4)), (2, (1, 7)), (1, (1, 1)), (2, (1, 7))):
        put(env, row, column)
        assert walk(env, STAY)[0][1] == 0.0
        assert env.pads[-1] == pad
    put(env, 6, 4)
    assert walk(env, STAY)[0][1] == 1.0


def test_staying_on_a_pad_counts_once(env):
    put(env, 1, 1)
    walk(env, STAY, DOWN, UP, STAY)
    assert env.pads == (0, 0, 1)


def test_walls_stop_the_player(env):
    put(env, 1, 1)
    walk(env, UP, LEFT)
    assert (env.row, env.column) == (1, 1)


def test_an_observation_tells_where_the_player_is_and_what_was_stepped_on(env):
    put(env, 6, 4)
    ((seen, *_),) = walk(env, STAY)
    assert seen.tolist() == [1, 0] + [0] * 6 + [0, 0, 1]
    put(env, 1, 7)
    ((seen, *_),) = walk(env, STAY)
    assert seen.tolist() == [-1, 1] + [0] * 3 + [0, 0, 1] + [0, 1, 0]
    assert seen.dtype == np.float32


def test_episodes_begin_on_every_free_cell_and_nowhere_else():
    env, starts = PinPad(), set()
    for seed in range(400):
        env.reset(seed=seed)
        starts.add((env.row, env.column))
    assert starts == {(r, c) for r, cells in enumerate(ROOM) for c, cell in enumerate(cells) if cell == "."}


def test_one_seed_plays_the_same_and_environments_of_other_seeds_differ():
    def starts(seed):
        env = gymnasium.make(SPEC)
        return [tuple(env.reset(seed=seed if i == 0 else None)[0]) for i in range(8)]

    assert starts(42) == starts(42)
    assert len({tuple(starts(seed)) for seed in range(42, 50)}) == 8


def test_an_episode_is_cut_off_at_its_limit():
    env = gymnasium.make(SPEC)
    env.reset(seed=1)
    steps = [env.step(STAY) for _ in range(100)]
    assert [truncated for _, _, _, truncated, _ in steps] == [False] * 99 + [True]


def test_its_state_can_be_put_back():
    one, other = gymnasium.make(SPEC), gymnasium.make(SPEC)
    one.reset(seed=3)
    other.reset(seed=4)
    one.step(DOWN)
    random_state.restore_environment(other, random_state.environment_state(one))
    for action in [LEFT, UP] * 60:
        here, there = one.step(action), other.step(action)
        assert here[0].tolist() == there[0].tolist()
        assert here[1:4] == there[1:4]
        if here[2] or here[3]:
            assert one.reset()[0].tolist() == other.reset()[0].tolist()


def test_the_room_can_be_seen():
    env = gymnasium.make(SPEC, render_mode="ansi")
    env.reset(seed=0)
    assert env.render().count("@") == 1
