"""Players: what is seen, done and counted, against gymnasium itself."""

import math
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from recipes.parts.playing import Players, spec_of  # noqa: E402


@pytest.fixture
def spec():
    return replace(gymnasium.spec("CartPole-v1"), max_episode_steps=20)


def always_left(observations):
    return np.tile(np.array([50.0, -50.0], dtype=np.float32), (len(observations), 1))


def test_every_environment_starts_from_its_own_seed(spec):
    players = Players([spec] * 2, [5, 6])
    expected = [gymnasium.make("CartPole-v1").reset(seed=seed)[0] for seed in (5, 6)]
    np.testing.assert_array_equal(players.observations, np.stack(expected))


def test_no_transition_leads_from_one_episode_into_the_next(spec):
    players = Players([spec] * 3, [1, 2, 3])
    rollout = players.play(always_left, 60)
    assert rollout.done.sum() > 6
    after = rollout.observations[1:][rollout.done]
    assert np.all(np.abs(after) <= 0.05)  # where episodes start
    assert np.all(rollout.rewards == 1.0)  # a step that only resets would give none


def test_an_episode_that_is_cut_off_keeps_its_true_last_observation():
    spec = replace(gymnasium.spec("CartPole-v1"), max_episode_steps=5)
    rollout = Players([spec], [1]).play(always_left, 12)
    assert rollout.cut_at.tolist() == [[4, 0], [9, 0]]
    env = gymnasium.make(spec)
    env.reset(seed=1)
    seen = [env.step(0)[0] for _ in range(5)][-1]
    np.testing.assert_array_equal(rollout.cut_observations[0], seen)


def test_a_fallen_pole_is_no_cut():
    rollout = Players([gymnasium.spec("CartPole-v1")], [1]).play(always_left, 30)
    assert rollout.done.any()
    assert len(rollout.cut_at) == 0


def test_episodes_are_counted_over_the_ends_of_rollouts():
    spec = replace(gymnasium.spec("CartPole-v1"), max_episode_steps=5)
    players = Players([spec], [1])
    assert math.isnan(players.record()["train/episodic_return"])
    players.play(always_left, 3)
    players.play(always_left, 3)
    assert players.record() == {"train/episodic_return": 5.0, "train/episodic_length": 5.0}


def test_actions_are_drawn_from_the_actors_distribution(spec):
    def one_in_four(observations):
        return np.tile(np.log(np.array([0.25, 0.75], dtype=np.float32)), (len(observations), 1))

    torch.manual_seed(0)
    actions = Players([spec] * 4, [1, 2, 3, 4]).play(one_in_four, 2500).actions
    assert actions.mean() == pytest.approx(0.75, abs=0.015)  # 3.5 standard errors


def test_a_limit_of_the_players_cuts_an_episode_off_as_its_environments_own_does(spec):
    own = Players([replace(spec, max_episode_steps=5)], [1]).play(always_left, 12)
    ours = Players([spec], [1], limit=5).play(always_left, 12)
    for one, other in zip(own, ours, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_episode_that_ends_where_it_would_be_cut_off_has_ended(spec):
    fell = len(Players([spec], [1]).play(always_left, 20).done[:, 0].nonzero()[0]) and int(
        Players([spec], [1]).play(always_left, 20).done[:, 0].argmax()
    )
    steps = Players([spec], [1], limit=fell + 1)
    last = [steps.step([0])[0] for _ in range(fell + 1)][-1]
    assert last[2:] == (True, True)
    assert len(Players([spec], [1], limit=fell + 1).play(always_left, fell + 1).cut_at) == 0


def test_what_resets_are_told_and_where_episodes_are_cut_off_may_change(spec):
    players = Players([spec] * 2, [1, 2], reset_options={"low": 0.0, "high": 0.0})
    assert not players.observations.any()
    players.tell(reset_options={"low": 0.04, "high": 0.04}, limit=3)
    seen = [(players.step([0, 0]), players.observations.copy())[1] for _ in range(3)][-1]
    np.testing.assert_array_equal(seen, np.full((2, 4), np.float32(0.04)))


def test_shorter_observations_are_followed_by_zeros_also_where_an_episode_is_cut_off():
    specs = [spec_of(name, max_episode_steps=4) for name in ("CartPole-v1", "Acrobot-v1")]
    players = Players(specs, [1, 2], task_of=np.array([0, 1]))
    assert players.num_actions == 3
    rollout = players.play(lambda seen: np.tile([0.0, 0.0, -1e9], (len(seen), 1)), 9)
    assert rollout.observations.shape == (10, 2, 6)
    assert not rollout.observations[:, 0, 4:].any()
    assert rollout.observations[:, 1, 4:].any()
    assert sorted(rollout.cut_at.tolist()) == [[3, 0], [3, 1], [7, 0], [7, 1]]
    assert not rollout.cut_observations[rollout.cut_at[:, 1] == 0, 4:].any()
    assert rollout.cut_observations[rollout.cut_at[:, 1] == 1, 4:].any()
    assert [len(recent) for recent in players.recent] == [2, 2]


def test_players_go_on_from_their_state(spec):
    whole, stopped = (Players([spec] * 2, [1, 2]) for _ in range(2))
    for players in (whole, stopped):
        players.play(always_left, 25)
    other = Players([spec] * 2, [1, 2])
    other.load_state_dict(stopped.state_dict())
    assert other.state_dict().keys() == whole.state_dict().keys()
    assert torch.equal(other.state_dict()["observations"], whole.state_dict()["observations"])
    for name in ("returns", "lengths", "recent"):
        assert other.state_dict()[name] == whole.state_dict()[name]
    assert other.record() == whole.record()


def test_an_environment_without_discrete_actions_is_refused():
    with pytest.raises(TypeError, match="no discrete actions"):
        Players([gymnasium.spec("Pendulum-v1")], [1])


def test_an_environment_of_nobodys_registry_is_found_by_its_name(spec):
    own = replace(spec, id="Ours-v0")
    assert spec_of("Ours-v0", max_episode_steps=7, own=[own]) == replace(own, max_episode_steps=7)
    assert spec_of("CartPole-v1", max_episode_steps=7, own=[own]).id == "CartPole-v1"
    assert own.max_episode_steps == 20
