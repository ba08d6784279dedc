"""PPO's parts, each against its definition."""

import ast
import math
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch

from reprokit import recipes
from reprokit.probes.determinism import verify_determinism
from reprokit.runtime import config

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture
def model(ppo):
    torch.manual_seed(0)
    return ppo.ActorCritic(4, 2, ppo.Model())


@pytest.fixture
def spec():
    return replace(gymnasium.spec("CartPole-v1"), max_episode_steps=20)


def always_left(observations):
    return np.tile(np.array([50.0, -50.0], dtype=np.float32), (len(observations), 1))


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


def test_a_trainer_imports_torch_numpy_gymnasium_and_the_runtime_only():
    tree = ast.parse((PROJECT / "recipes" / "trainers" / "ppo.py").read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0] if not name.startswith("reprokit") else ".".join(name.split(".")[:2])
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    standard = {"__future__", "math", "collections", "dataclasses", "itertools", "typing"}
    assert imported - standard == {"torch", "numpy", "gymnasium", "reprokit.runtime"}


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


def test_adam_on_one_vector_is_torchs_adam_bit_for_bit(ppo, model):
    ours = ppo.Adam(model, learning_rate=3e-4, epsilon=1e-5)
    vector = torch.nn.Parameter(ours.values.clone())
    theirs = torch.optim.Adam([vector], lr=3e-4, eps=1e-5, fused=True)
    for _ in range(20):
        vector.grad = torch.randn_like(vector)
        ours.gradients.copy_(vector.grad)
        torch.testing.assert_close(ours.step(max_norm=math.inf), vector.grad.norm())
        theirs.step()
    assert torch.equal(ours.values, vector)


def test_long_gradients_are_scaled_down_and_short_ones_left_alone(ppo, model):
    adam = ppo.Adam(model, learning_rate=1e-3, epsilon=1e-5)
    adam.gradients.fill_(1.0)
    norm = adam.step(max_norm=0.5)
    assert norm == pytest.approx(math.sqrt(adam.gradients.numel()))
    assert float(adam.gradients.norm()) == pytest.approx(0.5, rel=1e-4)
    adam.gradients.fill_(1e-6)
    adam.step(max_norm=0.5)
    assert torch.all(adam.gradients == 1e-6)


def test_parameters_and_gradients_are_views_of_the_two_vectors(ppo, model):
    adam = ppo.Adam(model, learning_rate=1e-3, epsilon=1e-5)
    adam.values.fill_(3.0)
    adam.gradients.fill_(4.0)
    assert all(torch.all(one == 3.0) and torch.all(one.grad == 4.0) for one in model.parameters())


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


def test_every_environment_starts_from_its_own_seed(ppo, spec):
    players = ppo.Players(spec, [5, 6])
    expected = [gymnasium.make("CartPole-v1").reset(seed=seed)[0] for seed in (5, 6)]
    np.testing.assert_array_equal(players.observations, np.stack(expected))


def test_no_transition_leads_from_one_episode_into_the_next(ppo, spec):
    players = ppo.Players(spec, [1, 2, 3])
    rollout = players.play(always_left, 60)
    assert rollout.done.sum() > 6
    after = rollout.observations[1:][rollout.done]
    assert np.all(np.abs(after) <= 0.05)  # where episodes start
    assert np.all(rollout.rewards == 1.0)  # a step that only resets would give none


def test_an_episode_that_is_cut_off_keeps_its_true_last_observation(ppo):
    spec = replace(gymnasium.spec("CartPole-v1"), max_episode_steps=5)
    rollout = ppo.Players(spec, [1]).play(always_left, 12)
    assert rollout.cut_at.tolist() == [[4, 0], [9, 0]]
    env = gymnasium.make(spec)
    env.reset(seed=1)
    seen = [env.step(0)[0] for _ in range(5)][-1]
    np.testing.assert_array_equal(rollout.cut_observations[0], seen)


def test_a_fallen_pole_is_no_cut(ppo):
    rollout = ppo.Players(gymnasium.spec("CartPole-v1"), [1]).play(always_left, 30)
    assert rollout.done.any()
    assert len(rollout.cut_at) == 0


def test_episodes_are_counted_over_the_ends_of_rollouts(ppo):
    spec = replace(gymnasium.spec("CartPole-v1"), max_episode_steps=5)
    players = ppo.Players(spec, [1])
    assert math.isnan(players.record()["train/episodic_return"])
    players.play(always_left, 3)
    players.play(always_left, 3)
    assert players.record() == {"train/episodic_return": 5.0, "train/episodic_length": 5.0}


def test_actions_are_drawn_from_the_actors_distribution(ppo, spec):
    def one_in_four(observations):
        return np.tile(np.log(np.array([0.25, 0.75], dtype=np.float32)), (len(observations), 1))

    torch.manual_seed(0)
    actions = ppo.Players(spec, [1, 2, 3, 4]).play(one_in_four, 2500).actions
    assert actions.mean() == pytest.approx(0.75, abs=0.015)  # 3.5 standard errors


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


def test_bounding_the_ratio_is_the_papers_objective_and_has_its_gradient(ppo):
    part = next(ppo.minibatches(random_batch(ppo, 256), ppo.Training(batch_size=256, clip_range=0.2)))
    ratio = torch.linspace(0.01, 3.0, 256, requires_grad=True)
    ours = part.advantages * ratio.clamp(part.low, part.high)
    papers = torch.minimum(part.advantages * ratio, part.advantages * ratio.clamp(0.8, 1.2))
    torch.testing.assert_close(ours, papers)
    gradients = [torch.autograd.grad(objective.sum(), ratio)[0] for objective in (ours, papers)]
    torch.testing.assert_close(*gradients)


def test_before_its_update_the_policy_has_not_moved(ppo, model, spec):
    batch = ppo.prepare(ppo.Players(spec, [1, 2]).play(model.actor(), 40), model, ppo.Training())
    record = ppo.measure(model, batch, ppo.Training())
    assert record["policy/approx_kl"] == 0.0
    assert record["policy/clip_fraction"] == 0.0
    assert record["policy/entropy"] == pytest.approx(math.log(2), abs=1e-3)


def test_an_update_makes_good_actions_likelier_and_values_truer(ppo, model, spec):
    settings = ppo.Training(batch_size=40, n_epochs=4, learning_rate=1e-3)
    batch = ppo.prepare(ppo.Players(spec, [1, 2]).play(model.actor(), 40), model, settings)
    adam = ppo.Adam(model, learning_rate=settings.learning_rate, epsilon=1e-5)
    ppo.update(model, adam, batch, settings)
    with torch.no_grad():
        logits, values = model(batch.observations)
        gained = -torch.nn.functional.cross_entropy(logits, batch.actions, reduction="none") - batch.log_probs
    standardised = (batch.advantages - batch.advantages.mean()) / batch.advantages.std()
    assert (gained * standardised).mean() > 0
    assert (values - batch.returns).pow(2).mean() < (batch.values - batch.returns).pow(2).mean()


def update_twice(ppo, model, spec):
    settings = ppo.Training(batch_size=40, n_epochs=2)
    batch = ppo.prepare(ppo.Players(spec, [1, 2]).play(model.actor(), 40), model, settings)
    adam = ppo.Adam(model, learning_rate=settings.learning_rate, epsilon=1e-5)
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
    batch = ppo.prepare(ppo.Players(spec, [1, 2]).play(model.actor(), 40), model, ppo.Training())
    batch = batch._replace(advantages=torch.zeros_like(batch.advantages))
    with torch.no_grad():
        model.policy_bias.copy_(torch.tensor([1.0, 0.0]))
    settings = ppo.Training(batch_size=80, n_epochs=1, learning_rate=1e-2, ent_coef=1.0, vf_coef=0.0)
    adam = ppo.Adam(model, learning_rate=settings.learning_rate, epsilon=1e-5)
    before = ppo.entropy_of(model(batch.observations)[0]).mean().item()
    ppo.update(model, adam, batch, settings)
    assert ppo.entropy_of(model(batch.observations)[0]).mean().item() > before


def test_evaluation_draws_from_no_global_generator(ppo, model, spec):
    before = torch.get_rng_state()
    numpy_before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = ppo.evaluate(spec, model.actor(), num_episodes=5, seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    np.testing.assert_array_equal(ppo.evaluate(spec, model.actor(), num_episodes=5, seed=3), first)


def test_an_evaluation_counts_one_episode_of_each_environment(ppo, spec):
    returns = ppo.evaluate(spec, always_left, num_episodes=50, seed=0)
    assert returns.shape == (50,)
    assert np.all((returns >= 8) & (returns <= 11))  # a pole that is always pushed left


def test_an_evaluation_is_cut_off_at_the_limit(ppo):
    spec = replace(gymnasium.spec("CartPole-v1"), max_episode_steps=5)
    assert ppo.evaluate(spec, always_left, num_episodes=3, seed=0).tolist() == [5.0, 5.0, 5.0]


@pytest.mark.parametrize(
    ("interval", "before", "now", "due"),
    [(5000, 0, 4096, False), (5000, 4096, 8192, True), (5000, 4992, 5000, True), (5000, 5000, 5008, False)],
)
def test_something_is_due_at_the_first_end_of_an_update_at_or_after_the_interval(
    ppo, interval, before, now, due
):
    assert ppo.is_due(interval, before, now) is due


def test_an_environment_without_discrete_actions_is_refused(ppo):
    with pytest.raises(TypeError, match="no discrete actions"):
        ppo.Players(gymnasium.spec("Pendulum-v1"), [1])
