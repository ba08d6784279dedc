"""DQN's parts, each against its definition; PyTorch's autograd is the judge of the written-out gradient."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from recipes.parts import pinpad
from recipes.parts.evaluation import evaluate
from recipes.parts.playing import spec_of
from recipes.parts.replay_buffers import ReplayBuffer
from recipes.parts.replay_sampling import sampler_of
from reprokit import recipes
from reprokit.runtime import config
from reprokit.runtime.launch import load_trainer

PROJECT = Path(__file__).resolve().parents[3]
TRAINER = PROJECT / "recipes" / "trainers" / "dqn.py"


@pytest.fixture(scope="module")
def dqn():
    return load_trainer(TRAINER)


@pytest.fixture(autouse=True, scope="module")
def one_thread_as_in_a_run():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def learner_of(dqn, *, hidden_sizes=(16, 8), num_stored=200, **settings):
    torch.manual_seed(0)
    settings = dqn.Training(batch_size=12, **settings)
    model, target = (dqn.QNetwork(4, 3, hidden_sizes) for _ in range(2))
    sampler = sampler_of(settings.replay, 100, np.random.default_rng(0))
    buffer = ReplayBuffer(100, observation_size=4, sampler=sampler)
    rng = np.random.default_rng(1)
    for i in range(num_stored):
        observation, following = rng.normal(size=(2, 4)).astype(np.float32)
        buffer.add(
            observation,
            action=i % 3,
            reward=float(rng.normal()),
            next_observation=following,
            terminated=i % 4 == 0,
        )
    return dqn.Learner(model, target, buffer, settings)


def gradients_of(learner):
    learner.adam.gradients.zero_()
    batch = learner.replay.sample(12)
    errors, values = learner.add_gradients(batch)
    return batch, errors, values, learner.adam.gradients.clone()


@pytest.mark.parametrize("name", ["cartpole_dqn", "pinpad"])
def test_the_configuration_that_the_host_writes_is_the_one_that_the_trainer_gets(dqn, name):
    recipe = recipes.load(name, recipes_dir=PROJECT / "recipes")
    built = config.build(dqn.Config, config.parse(recipe.config_yaml()))
    assert built.training.algorithm == "dqn"
    dqn.check(built)


def test_the_recipe_has_the_hyperparameters_of_the_document():
    training = recipes.load("cartpole_dqn", recipes_dir=PROJECT / "recipes").training_config
    document = {
        "learning_rate": 3e-4,
        "batch_size": 64,
        "gamma": 0.99,
        "epsilon_start": 1.0,
        "epsilon_end": 0.01,
        "epsilon_decay": 10_000,
        "buffer_size": 10_000,
        "target_update": 100,
        "total_timesteps": 50_000,
    }
    assert {name: training["training"][name] for name in document} == document
    assert training["model"]["hidden_sizes"] == [128]
    assert training["logging"]["eval_interval"] == 1000


@pytest.mark.parametrize("replay", ["uniform", "prioritised"])
@pytest.mark.parametrize("hidden_sizes", [(16,), (16, 8)])
@pytest.mark.parametrize("parts", [1, 3])
def test_the_written_out_gradient_is_that_of_the_papers_loss(dqn, replay, hidden_sizes, parts):
    learner = learner_of(dqn, replay=replay, hidden_sizes=hidden_sizes, gradient_accumulation_steps=parts)
    learner.adam.gradients.zero_()
    batch = learner.replay.sample(12)
    assert (batch.weights is None) == (replay == "uniform")
    if replay == "prioritised":
        batch = batch._replace(weights=np.linspace(0.1, 1, 12, dtype=np.float32))
    errors = np.concatenate([learner.add_gradients(part)[0] for part in batch.parts(parts)])
    loss = dqn.papers_loss(learner.model, learner.target, batch, learner.settings.gamma)
    expected = torch.autograd.grad(loss, list(learner.model.parameters()))
    flat = torch.cat([one.reshape(-1) for one in expected])
    torch.testing.assert_close(learner.adam.gradients, flat, rtol=1e-5, atol=1e-6)
    weights = 1 if batch.weights is None else batch.weights
    assert float(loss.detach()) == pytest.approx(float((weights * errors**2).mean()), rel=1e-5)
    assert flat.abs().max() > 0


def test_in_bfloat16_the_gradient_is_nearly_that_of_the_papers_loss(dqn):
    learner = learner_of(dqn, precision="bfloat16", hidden_sizes=(16, 8))
    assert not learner.network.in_numpy
    batch, _, _, gradient = gradients_of(learner)
    loss = dqn.papers_loss(learner.model, learner.target, batch, learner.settings.gamma)
    flat = torch.cat([one.reshape(-1) for one in torch.autograd.grad(loss, list(learner.model.parameters()))])
    assert 0 < float((gradient - flat).norm() / flat.norm()) < 0.1


def test_errors_are_those_of_the_bellman_equation(dqn):
    learner = learner_of(dqn, gamma=0.9)
    batch, errors, values, _ = gradients_of(learner)
    with torch.no_grad():
        chosen = learner.model(torch.from_numpy(batch.observations))
        following = learner.target(torch.from_numpy(batch.next_observations)).max(dim=1).values
    for i in range(12):
        future = 0.0 if batch.terminated[i] else 0.9 * float(following[i])
        value = float(chosen[i, batch.actions[i]])
        assert errors[i] == pytest.approx(value - (batch.rewards[i] + future), abs=1e-5)
        assert values[i] == pytest.approx(value, abs=1e-6)
    assert batch.terminated.any()
    assert not batch.terminated.all()


def test_parts_of_a_batch_add_up_to_its_gradient(dqn):
    whole, parts = learner_of(dqn), learner_of(dqn, gradient_accumulation_steps=3)
    for learner in (whole, parts):
        learner.learn(learning_rate=1e-3)
    torch.testing.assert_close(whole.adam.gradients, parts.adam.gradients, rtol=1e-5, atol=1e-6)


def test_learning_lowers_the_loss_on_what_it_learns_from(dqn):
    learner = learner_of(dqn, hidden_sizes=(64,), num_stored=12, target_update=10_000)
    losses = [learner.learn(learning_rate=1e-2)[0] for _ in range(400)]
    assert np.mean(losses[-50:]) < 0.3 * np.mean(losses[:50])


def test_one_transition_can_be_memorised(dqn):
    learner = learner_of(dqn, num_stored=1)
    losses = [learner.learn(learning_rate=1e-2)[0] for _ in range(300)]
    assert losses[-1] < 1e-4 * losses[0]


def test_the_target_follows_after_so_many_updates_and_not_before(dqn):
    learner = learner_of(dqn, target_update=3)
    flat = torch.nn.utils.parameters_to_vector
    same = []
    for _ in range(6):
        learner.learn(learning_rate=1e-2)
        same.append(torch.equal(flat(learner.model.parameters()), flat(learner.target.parameters())))
    assert same == [False, False, True, False, False, True]


def test_long_gradients_are_scaled_down(dqn):
    clipped, free = learner_of(dqn, max_grad_norm=0.1), learner_of(dqn)
    norms = [learner.learn(learning_rate=1e-3)[3] for learner in (clipped, free)]
    assert norms[0] == norms[1] > 0.1
    assert float(clipped.adam.gradients.norm()) == pytest.approx(0.1, rel=1e-3)
    assert float(free.adam.gradients.norm()) == pytest.approx(norms[1], rel=1e-5)


def test_a_prioritised_replay_hears_of_the_errors(dqn):
    learner = learner_of(dqn, replay="prioritised")
    before = learner.replay.sampler.probabilities()
    learner.learn(learning_rate=1e-3)
    assert len(set(before)) == 1
    assert len(set(learner.replay.sampler.probabilities())) > 6


def test_an_anomaly_ends_the_run_and_is_named(dqn):
    learner = learner_of(dqn, detect_anomaly=True)
    learner.learn(learning_rate=1e-3)
    with torch.no_grad():
        learner.model.weights[1][2, 2] = math.nan
    with pytest.raises(FloatingPointError, match=r"the output of layer 1: .* are not finite"):
        learner.learn(learning_rate=1e-3)
    unwatched = learner_of(dqn)
    with torch.no_grad():
        unwatched.model.weights[1][2, 2] = math.nan
    assert math.isnan(unwatched.learn(learning_rate=1e-3)[0])


def test_a_gradient_that_is_not_finite_is_named(dqn):
    learner = learner_of(dqn, detect_anomaly=True)
    learner.replay._observations[:, 0] = 1e38
    learner.replay._rewards[:] = 1e6
    with torch.no_grad():
        learner.model.weights[0][0] = 1e-38
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match=r"the gradient of weights\.0"):
        learner.learn(learning_rate=1e-3)


def test_epsilon_falls_in_a_line_and_stays(dqn):
    settings = dqn.Training()
    assert [round(dqn.epsilon_at(step, settings), 6) for step in (0, 5_000, 10_000, 40_000)] == [
        1.0,
        0.505,
        0.01,
        0.01,
    ]


def test_the_learning_rate_warms_up_and_falls(dqn):
    settings = dqn.Training(
        learning_rate=1.0, lr_schedule="linear", lr_warmup_steps=100, total_timesteps=1000
    )
    rates = [dqn.learning_rate_at(step, settings) for step in (0, 50, 100, 500, 1000, 1500)]
    assert rates == pytest.approx([0.0, 0.475, 0.9, 0.5, 0.0, 0.0])
    constant = dqn.Training(learning_rate=1.0)
    assert {dqn.learning_rate_at(step, constant) for step in (1, 500, 10**6)} == {1.0}


def test_a_transition_never_leads_into_the_next_episode(dqn):
    spec = dqn.spec_of("CartPole-v1", max_episode_steps=16)
    players = dqn.Players([spec] * 3, [3, 4, 5])
    learner = learner_of(dqn, num_stored=0)
    rng = np.random.default_rng(0)
    for _ in range(30):
        dqn.play(players, rng.integers(2, size=3).tolist(), learner)
    buffer = learner.replay
    assert len(buffer) == 90
    moved = np.abs(buffer._next_observations - buffer._observations)[:90, 2]
    assert 0 < moved.max() < 0.1  # the pole's angle changes a little a step; a reset would throw it back
    recent = players.recent[0]
    cut = sum(length == 16 for _, length in recent)
    assert 0 < cut < len(recent)
    assert buffer._terminated.sum() == len(recent) - cut
    assert learner.largest_reward == 1.0


def test_pinpad_is_played_by_its_name():
    spec = spec_of("PinPad-v0", max_episode_steps=17, own=[pinpad.SPEC])
    returns = evaluate(spec, lambda seen: np.zeros((len(seen), 5)), num_episodes=4, seed=1)
    assert returns.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("section", "settings", "told"),
    [
        ("training", {"train_frequency": 3}, "train_frequency 3 is no multiple of num_envs 2"),
        ("logging", {"log_interval": 501}, "log_interval 501 is no multiple of num_envs 2"),
        (
            "training",
            {"batch_size": 10, "gradient_accumulation_steps": 3, "train_frequency": 2},
            "batch_size 10",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(dqn, section, settings, told):
    chosen = {"environment": {"name": "CartPole-v1", "num_envs": 2}, "training": {"train_frequency": 2}}
    chosen.setdefault(section, {})
    chosen[section] = {**chosen[section], **settings}
    with pytest.raises(ValueError, match=told):
        dqn.check(config.build(dqn.Config, chosen))
