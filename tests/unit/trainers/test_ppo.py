"""PPO's parts, each against its definition."""

import math
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch

from reprokit import recipes
from reprokit.features.numerics.inside.determinism import verify_determinism
from reprokit.runtime import config

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture
def model(ppo):
    torch.manual_seed(0)
    return ppo.ActorCritic(4, 2, ppo.Model())


@pytest.fixture
def spec():
    return replace(gymnasium.spec("CartPole-v1"), max_episode_steps=20)


def rollout_of(ppo, *, rewards, done, cut_at=(), cut_observations=()):
    rewards = np.asarray(rewards, dtype=np.float32)
    rng = np.random.default_rng(0)
    num_steps, num_envs = rewards.shape
    return ppo.Rollout(
        observations=rng.normal(size=(num_steps + 1, num_envs, 4)).astype(np.float32),
        actions=rng.integers(0, 2, size=rewards.shape),
        rewards=rewards,
        done=np.asarray(done, dtype=bool),
        cut_at=np.array(cut_at, dtype=np.int64).reshape(-1, 2),
        cut_observations=np.array(cut_observations, dtype=np.float32).reshape(-1, 4),
    )


def test_the_configuration_that_the_host_writes_is_the_one_that_the_trainer_gets(ppo):
    recipe = recipes.load("cartpole_baseline", recipes_dir=PROJECT / "recipes")
    settings = config.parse(recipe.config_yaml())
    assert settings == recipe.training_config
    built = config.build(ppo.Config, settings)
    assert built.training.learning_rate == 3e-4
    assert built.model.hidden_sizes == (64, 64)


def test_actor_and_critic_are_two_separate_perceptrons(ppo, model):
    observations = torch.randn(16, 4)
    expected = []
    for one, weight, bias in (
        (0, model.policy_weight, model.policy_bias),
        (1, model.value_weight, model.value_bias),
    ):
        hidden = observations
        for layer_weight, layer_bias in zip(model.weights, model.biases, strict=True):
            hidden = torch.tanh(hidden @ layer_weight[one] + layer_bias[one])
        expected.append(hidden @ weight + bias)
    logits, values = model(observations)
    torch.testing.assert_close(logits, expected[0])
    torch.testing.assert_close(values, expected[1].squeeze(1))


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_numpy_actor_is_the_torch_actor(ppo, activation):
    model = ppo.ActorCritic(4, 3, ppo.Model(hidden_sizes=(16, 8), activation=activation))
    observations = torch.randn(32, 4)
    logits, _ = model(observations)
    np.testing.assert_allclose(model.actor()(observations.numpy()), logits.detach().numpy(), atol=1e-6)


def test_initial_weights_are_orthogonal_with_the_usual_gains(model):
    both = model.weights[1]
    for weight in both:
        torch.testing.assert_close(weight @ weight.T, 2 * torch.eye(64), atol=1e-4, rtol=0)
    torch.testing.assert_close(model.policy_weight.T @ model.policy_weight, 1e-4 * torch.eye(2))
    torch.testing.assert_close(model.value_weight.norm(), torch.tensor(1.0))
    assert not torch.equal(both[0], both[1])


def test_advantages_are_the_discounted_sums_of_errors(ppo):
    rng = np.random.default_rng(1)
    rollout = rollout_of(ppo, rewards=rng.normal(size=(30, 3)), done=rng.random((30, 3)) < 0.2)
    values, next_values = rng.normal(size=(2, 30, 3)).astype(np.float32)
    settings = ppo.Training(gamma=0.9, gae_lambda=0.8)
    actual = ppo.advantages_of(rollout, values, next_values, settings)
    for start in range(30):
        for env in range(3):
            expected, weight = 0.0, 1.0
            for t in range(start, 30):
                error = rollout.rewards[t, env] + 0.9 * next_values[t, env] - values[t, env]
                expected += weight * error
                if rollout.done[t, env]:
                    break
                weight *= 0.9 * 0.8
            assert actual[start, env] == pytest.approx(expected, abs=1e-4)


def test_a_terminal_state_has_no_future_and_a_truncated_one_has_the_critics(ppo, model):
    last_seen = np.full(4, 0.5, dtype=np.float32)
    terminal = rollout_of(ppo, rewards=[[1.0], [1.0]], done=[[False], [True]])
    truncated = terminal._replace(cut_at=np.array([[1, 0]]), cut_observations=last_seen[None])
    settings = ppo.Training(gamma=0.5, gae_lambda=0.0)
    with torch.no_grad():
        future = model(torch.from_numpy(last_seen[None]))[1].item()
    ends = [ppo.prepare(rollout, model, settings).returns[1].item() for rollout in (terminal, truncated)]
    assert ends[0] == pytest.approx(1.0, abs=1e-6)
    assert ends[1] == pytest.approx(1.0 + 0.5 * future, abs=1e-6)
    assert abs(future) > 1e-3


def test_a_rollout_cut_by_the_update_goes_on_in_the_next_observation(ppo, model):
    rollout = rollout_of(ppo, rewards=[[0.0, 0.0]], done=[[False, False]])
    batch = ppo.prepare(rollout, model, ppo.Training(gamma=1.0, gae_lambda=0.0))
    with torch.no_grad():
        expected = model(torch.from_numpy(rollout.observations[1]))[1]
    torch.testing.assert_close(batch.returns, expected, atol=1e-6, rtol=0)


def random_batch(ppo, num_rows):
    torch.manual_seed(3)
    return ppo.Batch(
        observations=torch.randn(num_rows, 4),
        actions=torch.arange(num_rows),
        log_probs=torch.randn(num_rows),
        advantages=torch.randn(num_rows) * 5 + 2,
        returns=torch.randn(num_rows),
        values=torch.randn(num_rows),
    )


def test_an_epoch_holds_every_transition_once_in_rows_that_belong_together(ppo):
    batch = random_batch(ppo, 12)
    parts = list(ppo.minibatches(batch, ppo.Training(batch_size=4)))
    assert [len(part.actions) for part in parts] == [4, 4, 4]
    assert torch.cat([part.actions for part in parts]).sort().values.equal(batch.actions)
    for part in parts:
        assert torch.equal(part.observations, batch.observations[part.actions])
        assert torch.equal(part.log_probs, batch.log_probs[part.actions])
        assert torch.equal(part.returns, batch.returns[part.actions])


def test_every_epoch_has_an_order_of_its_own(ppo):
    batch = random_batch(ppo, 64)
    orders = [next(ppo.minibatches(batch, ppo.Training(batch_size=64))).actions for _ in range(2)]
    assert not torch.equal(*orders)


def test_advantages_are_standardised_in_each_minibatch(ppo):
    batch = random_batch(ppo, 128)
    for part in ppo.minibatches(batch, ppo.Training(batch_size=32)):
        raw = batch.advantages[part.actions]
        torch.testing.assert_close(part.advantages, (raw - raw.mean()) / (raw.std() + 1e-8))


@pytest.mark.parametrize("ent_coef", [0.0, 0.01])
def test_the_loss_in_fewer_calls_is_the_papers_and_has_its_gradient(ppo, model, ent_coef):
    settings = ppo.Training(batch_size=256, clip_range=0.2, ent_coef=ent_coef)
    batch = random_batch(ppo, 256)._replace(actions=torch.arange(256) % 2)
    with torch.no_grad():
        log_probs = model(batch.observations)[0].log_softmax(1).gather(1, batch.actions[:, None])[:, 0]
    batch = batch._replace(log_probs=log_probs + 0.3 * torch.randn(256))  # some within the range, some beyond
    part = next(ppo.minibatches(batch, settings))
    losses, gradients = [], []
    for loss in (ppo.losses_of(model, part, settings)[0], ppo.papers_loss(model, part, settings)):
        losses.append(loss.detach())
        gradients.append(torch.autograd.grad(loss, list(model.parameters())))
    torch.testing.assert_close(*losses)
    for ours, papers in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, papers)
        assert papers.abs().max() > 0


def test_before_its_update_the_policy_has_not_moved(ppo, model, spec):
    batch = ppo.prepare(ppo.Players([spec] * 2, [1, 2]).play(model.actor(), 40), model, ppo.Training())
    record = ppo.measure(model, batch, clip_range=0.2)
    assert record["policy/approx_kl"] == 0.0
    assert record["policy/clip_fraction"] == 0.0
    assert record["policy/entropy"] == pytest.approx(math.log(2), abs=1e-3)


def test_an_update_makes_good_actions_likelier_and_values_truer(ppo, model, spec):
    settings = ppo.Training(batch_size=40, n_epochs=4, learning_rate=1e-3)
    batch = ppo.prepare(ppo.Players([spec] * 2, [1, 2]).play(model.actor(), 40), model, settings)
    adam = ppo.adam_of(model, epsilon=1e-5)
    ppo.update(model, adam, batch, settings)
    with torch.no_grad():
        logits, values = model(batch.observations)
        gained = -torch.nn.functional.cross_entropy(logits, batch.actions, reduction="none") - batch.log_probs
    standardised = (batch.advantages - batch.advantages.mean()) / batch.advantages.std()
    assert (gained * standardised).mean() > 0
    assert (values - batch.returns).pow(2).mean() < (batch.values - batch.returns).pow(2).mean()


def update_twice(ppo, model, spec):
    settings = ppo.Training(batch_size=40, n_epochs=2)
    batch = ppo.prepare(ppo.Players([spec] * 2, [1, 2]).play(model.actor(), 40), model, settings)
    adam = ppo.adam_of(model, epsilon=1e-5)
    return verify_determinism(
        lambda: ppo.update(model, adam, batch, settings), model=model, optimizer=adam
    ).differences


def test_an_update_does_the_same_thing_twice(ppo, model, spec):
    assert update_twice(ppo, model, spec) == ()


def test_an_update_that_shuffles_with_a_generator_of_its_own_is_named(ppo, model, spec, monkeypatch):
    unseeded = np.random.default_rng()
    monkeypatch.setattr(torch, "randperm", lambda number: torch.from_numpy(unseeded.permutation(number)))

    found = update_twice(ppo, model, spec)

    assert (found[0].what, found[0].name) == ("output", "loss/policy")
    assert {one.what for one in found} == {"output", "gradient", "parameter", "optimizer"}


def test_entropy_counts_where_it_has_a_weight(ppo, model, spec):
    batch = ppo.prepare(ppo.Players([spec] * 2, [1, 2]).play(model.actor(), 40), model, ppo.Training())
    batch = batch._replace(advantages=torch.zeros_like(batch.advantages))
    with torch.no_grad():
        model.policy_bias.copy_(torch.tensor([1.0, 0.0]))
    settings = ppo.Training(batch_size=80, n_epochs=1, learning_rate=1e-2, ent_coef=1.0, vf_coef=0.0)
    adam = ppo.adam_of(model, epsilon=1e-5)
    before = ppo.entropy_of(model(batch.observations)[0]).mean().item()
    ppo.update(model, adam, batch, settings)
    assert ppo.entropy_of(model(batch.observations)[0]).mean().item() > before
