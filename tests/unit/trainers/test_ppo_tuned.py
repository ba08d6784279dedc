"""Tuned PPO: every setting does what it says, repeats, and continues after a stop."""

import json
import math
import pstats
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from recipes.parts.flat_adam import FlatAdam  # noqa: E402
from reprokit.probes import profiling  # noqa: E402
from reprokit.runtime import config  # noqa: E402
from reprokit.runtime.launch import load_trainer  # noqa: E402
from reprokit.runtime.run import Run  # noqa: E402

PROJECT = Path(__file__).resolve().parents[3]
BASE = {
    "environment": {"name": "CartPole-v1", "num_envs": 4, "max_episode_steps": 30},
    "model": {"hidden_sizes": [16, 16]},
    "training": {
        "total_timesteps": 1024,
        "rollout_steps": 64,
        "batch_size": 64,
        "n_epochs": 2,
        "target_kl": None,
    },
    "logging": {
        "save_interval": 512,
        "eval_interval": 512,
        "eval_episodes": 2,
        "final_eval_episodes": 2,
    },
}
# Each of them on its own must change the numbers, or it does nothing.
SETTINGS = {
    "gradient accumulation": ("training", {"gradient_accumulation_steps": 4}),
    "bfloat16": ("training", {"precision": "bfloat16"}),
    "gradient clipping": ("training", {"max_grad_norm": 0.01}),
    "warm-up": ("training", {"lr_warmup_steps": 700}),
    "a constant learning rate": ("training", {"lr_schedule": "constant"}),
    "value clipping": ("training", {"clip_range_vf": 0.01}),
    "an early stop": ("training", {"target_kl": 1e-7}),
    "no entropy bonus": ("training", {"ent_coef": 0.0}),
    "raw observations": ("environment", {"normalize_obs": False}),
    "raw rewards": ("environment", {"normalize_reward": False}),
    "PyTorch's initial weights": ("model", {"ortho_init": False}),
    "tanh": ("model", {"activation": "tanh"}),
}


@pytest.fixture(scope="module")
def tuned():
    return load_trainer(PROJECT / "recipes" / "trainers" / "ppo_tuned.py")


def settings_of(trainer, section=None, changes=None):
    given = {name: dict(values) for name, values in BASE.items()}
    if section:
        given[section].update(changes)
    return config.build(trainer.Config, given)


def trained(trainer, settings, folder, **how):
    folder.mkdir(parents=True)
    with Run.open(folder, seed=7, device="cpu", clock=time.perf_counter, **how) as run:
        trainer.train(settings, run)
    return folder


def told(folder, name="metrics.jsonl"):
    return (folder / name).read_text()


def records(folder, name="metrics.jsonl"):
    return [json.loads(line) for line in told(folder, name).splitlines()]


@pytest.fixture(scope="module")
def base(tuned, tmp_path_factory):
    return trained(tuned, settings_of(tuned), tmp_path_factory.mktemp("base") / "run")


@pytest.mark.parametrize("called", SETTINGS)
def test_a_setting_changes_the_training_and_repeats(tuned, base, tmp_path, called):
    settings = settings_of(tuned, *SETTINGS[called])
    one, other = (trained(tuned, settings, tmp_path / name) for name in ("one", "other"))
    assert told(one, "trace.jsonl") != told(base, "trace.jsonl")
    for name in ("metrics.jsonl", "trace.jsonl", "checkpoints/MANIFEST.json"):
        assert told(one, name) == told(other, name), name


@pytest.mark.parametrize("called", ["warm-up", "an early stop", "gradient accumulation", "bfloat16"])
def test_a_resumed_training_has_the_setting_too(tuned, tmp_path, called):
    settings = settings_of(tuned, *SETTINGS[called])
    whole = trained(tuned, settings, tmp_path / "whole")
    stopped = whole / "checkpoints" / "checkpoint_512.pt"
    resumed = trained(tuned, settings, tmp_path / "resumed", resume_from=stopped)
    for name in ("metrics.jsonl", "trace.jsonl"):
        assert told(whole, name).endswith(told(resumed, name))
        assert len(records(resumed, name)) == 2


def test_looking_for_anomalies_changes_no_number(tuned, base, tmp_path):
    looking = trained(tuned, settings_of(tuned, "training", {"detect_anomaly": True}), tmp_path / "run")
    assert told(looking) == told(base)
    assert told(looking, "trace.jsonl") == told(base, "trace.jsonl")


def test_an_anomaly_ends_the_run_and_names_the_operation(tuned, tmp_path, monkeypatch):
    def spoilt(logits):
        return (logits.sum(dim=1) * 0).sqrt() * (logits.sum(dim=1) * 0 + math.inf) * 0

    monkeypatch.setattr(tuned, "entropy_of", spoilt)
    settings = settings_of(tuned, "training", {"detect_anomaly": True})
    with (
        pytest.warns(UserWarning, match="Error detected in"),
        pytest.raises(RuntimeError, match="Backward0' returned nan"),
    ):
        trained(tuned, settings, tmp_path / "run")


@pytest.mark.parametrize("name", ["ppo", "ppo_tuned"])
def test_a_profile_changes_no_number_and_shows_one_update(name, tmp_path):
    trainer = load_trainer(PROJECT / "recipes" / "trainers" / f"{name}.py")
    given = {**BASE, "training": {**BASE["training"]}}
    if name == "ppo":
        del given["training"]["target_kl"]
    settings = config.build(trainer.Config, given)
    plain = trained(trainer, settings, tmp_path / "plain")
    folder = tmp_path / "run" / profiling.FOLDER
    (tmp_path / "run").mkdir()
    with (
        Run.open(tmp_path / "run", seed=7, device="cpu", clock=time.perf_counter, profile_step=300) as run,
        profiling.profiled(folder),
    ):
        trainer.train(settings, run)
    for file in ("metrics.jsonl", "trace.jsonl", "checkpoints/MANIFEST.json"):
        assert told(tmp_path / "run", file) == told(plain, file), file
    functions = {function for _, _, function in pstats.Stats(str(folder / "training.prof")).stats}
    assert {"update", "play"} <= functions
    # Since 3.12 cProfile loses what is still running when PyTorch's profiler begins.
    assert "train" in functions or sys.version_info >= (3, 12)
    events = json.loads((folder / "update.pt.trace.json").read_text())["traceEvents"]
    steps = sum(event.get("name") == "aten::_fused_adam_" for event in events)
    assert steps == 2 * 64 * 4 // 64  # the minibatches of one update
    assert "aten::_fused_adam_" in (folder / "update.txt").read_text()


def test_a_pretrained_model_is_where_training_starts(tuned, base, tmp_path):
    data = {"warm.pt": base / "checkpoints" / "final_model.pt"}
    settings = settings_of(tuned, "model", {"pretrained": "warm.pt"})
    one, other = (trained(tuned, settings, tmp_path / name, data=data) for name in ("one", "other"))
    assert told(one) == told(other)
    assert records(one)[0]["policy/entropy"] != records(base)[0]["policy/entropy"]
    state = torch.load(data["warm.pt"], weights_only=True)
    assert float(state["observation_moments.count"]) == 1024
    assert float(state["return_moments.count"]) == 1024


def test_the_statistics_are_in_every_trace_and_checkpoint(base):
    names = {"observation_moments.mean", "observation_moments.variance", "return_moments.variance"}
    first, last = records(base, "trace.jsonl")[0], records(base, "trace.jsonl")[-1]
    assert names <= first["parameters"].keys()
    assert all(first["parameters"][name] != last["parameters"][name] for name in names)
    state = torch.load(base / "checkpoints" / "checkpoint_512.pt", weights_only=True)
    assert names <= state["model"].keys()
    assert len(state["extra"]["discounted"]["now"]) == 4


@pytest.mark.parametrize(
    ("step", "expected"), [(0, 0.5), (4096, 0.98), (100_000, 0.5), (200_000, 0.0), (250_000, 0.0)]
)
def test_the_learning_rate_rises_and_then_falls_to_0(tuned, step, expected):
    settings = tuned.Training(learning_rate=1.0, total_timesteps=200_000, lr_warmup_steps=8192)
    assert tuned.learning_rate_at(step, 4096, settings) == pytest.approx(expected, abs=1e-3)
    constant = replace(settings, lr_schedule="constant", lr_warmup_steps=0)
    assert tuned.learning_rate_at(step, 4096, constant) == 1.0


def a_batch(tuned, number=128):
    torch.manual_seed(0)
    return tuned.Batch(
        observations=torch.randn(number, 4),
        actions=torch.randint(0, 2, (number,)),
        log_probs=torch.full((number,), -math.log(2)),
        advantages=torch.randn(number),
        returns=torch.randn(number),
        values=torch.randn(number),
    )


def updated(tuned, **changes):
    torch.manual_seed(1)
    model = tuned.ActorCritic(4, 2, tuned.Model(hidden_sizes=(16,)))
    adam = FlatAdam(model, epsilon=1e-5)
    settings = tuned.Training(batch_size=64, n_epochs=3, target_kl=None)
    record = tuned.update(model, adam, a_batch(tuned), replace(settings, **changes), learning_rate=1e-2)
    return adam.values, record


def test_accumulated_gradients_are_those_of_the_whole_minibatch(tuned):
    whole, _ = updated(tuned)
    parts, _ = updated(tuned, gradient_accumulation_steps=8)
    torch.testing.assert_close(parts, whole, atol=1e-5, rtol=1e-4)


def test_the_update_ends_before_the_step_that_goes_too_far(tuned):
    _, free = updated(tuned)
    _, held = updated(tuned, target_kl=1e-4)
    assert free["optim/num_steps"] == 6
    assert 1 <= held["optim/num_steps"] < 6


def test_the_clipped_objective_is_the_papers_minimum(tuned):
    model, batch = tuned.ActorCritic(4, 2, tuned.Model(hidden_sizes=(16,))), a_batch(tuned)
    batch = batch._replace(log_probs=batch.log_probs + torch.randn(len(batch.actions)))
    settings = tuned.Training()
    _, terms = tuned.losses_of(model, batch, settings)
    logits, values = model(batch.observations)
    ratio = (logits.log_softmax(1)[range(128), batch.actions] - batch.log_probs).exp()
    low, high = 1 - settings.clip_range, 1 + settings.clip_range
    expected = -torch.min(batch.advantages * ratio, batch.advantages * ratio.clamp(low, high)).mean()
    torch.testing.assert_close(terms[0], expected)
    torch.testing.assert_close(terms[1], ((values - batch.returns) ** 2).mean())


def test_a_clipped_value_moves_no_farther_than_its_range(tuned):
    model, batch = tuned.ActorCritic(4, 2, tuned.Model(hidden_sizes=(16,))), a_batch(tuned)
    far = batch._replace(values=torch.full((128,), 50.0), returns=torch.full((128,), 50.0))
    _, terms = tuned.losses_of(model, far, tuned.Training(clip_range_vf=0.2))
    assert float(terms[1]) == pytest.approx(0.2**2, rel=1e-4)


def test_rewards_are_divided_by_the_deviation_of_the_discounted_return(tuned):
    returns, moments = tuned.DiscountedReturns(2), tuned.Moments()
    rewards = np.ones((4, 2), dtype=np.float32)
    done = np.zeros((4, 2), dtype=bool)
    done[1, 0] = True
    rollout = tuned.Rollout(np.zeros((5, 2, 4)), rewards, rewards, done, np.zeros((0, 2)), np.zeros((0, 4)))
    scaled = tuned.scaled(rollout, returns, moments, 0.5)
    discounted = np.array([[1, 1], [1.5, 1.5], [1, 1.75], [1.5, 1.875]])
    np.testing.assert_allclose(scaled.rewards, 1 / discounted.std(), rtol=1e-5)
    assert scaled.rewards.dtype == np.float32


def test_the_numpy_actor_is_the_torch_actor_on_normalised_observations(tuned):
    model = tuned.ActorCritic(4, 2, tuned.Model(hidden_sizes=(16, 8)))
    seen = np.random.default_rng(0).normal(5, 3, size=(64, 4)).astype(np.float32)
    model.observation_moments.see(seen)
    normalise = model.normaliser(on=True)
    logits, _ = model(torch.from_numpy(normalise(seen)))
    np.testing.assert_allclose(model.actor(normalise)(seen), logits.detach().numpy(), atol=1e-5)
    assert model.normaliser(on=False)(seen) is seen


@pytest.mark.parametrize("changes", [{"batch_size": 96}, {"gradient_accumulation_steps": 3}])
def test_minibatches_that_do_not_come_out_even_are_refused(tuned, tmp_path, changes):
    with pytest.raises(ValueError, match="does not divide"):
        trained(tuned, settings_of(tuned, "training", changes), tmp_path / "run")
