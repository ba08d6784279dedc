"""Looking on from outside: a small Q-learner that is sound, and the same one with a fault of each kind."""

import json

import numpy as np
import pytest

from reprokit.features.learning.inside import learning_probe, training_observer

gymnasium = pytest.importorskip("gymnasium")
torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("global_state")

TRAINER = """
from dataclasses import dataclass
import gymnasium, torch

@dataclass(frozen=True, kw_only=True)
class Training:
    total_timesteps: int = 512

@dataclass(frozen=True, kw_only=True)
class Config:
    training: Training = Training()

def train(config, run):
    run.seeding.seed_everything()
    env = gymnasium.make("CartPole-v1")
    seen, _ = env.reset(seed=run.seeding.environment_seeds(1)[0])
    q = torch.nn.Linear(4, 2)
    adam = torch.optim.SGD(q.parameters(), lr=0.05)
    for step in range(64, config.training.total_timesteps + 1, 64):
        for _ in range(64):
            values = q(torch.as_tensor(seen, dtype=torch.float32))
            action = int(torch.randint(2, ()))
            seen, reward, ended, cut, _ = env.step(action)
            loss = (values[action] - reward) ** 2
            adam.zero_grad()
            loss.backward()
            adam.step()
            if ended or cut:
                seen, _ = env.reset()
        run.trace.update(step=step, parameters=dict(q.named_parameters()), environments=[env],
                         gradients={"weight": q.weight.grad} if q.weight.grad is not None else {})
        envs = gymnasium.make_vec("CartPole-v1", num_envs=2)
        at, _ = envs.reset(seed=1)
        chosen = q(torch.as_tensor(at, dtype=torch.float32)).argmax(1).numpy()
        run.metrics.write(step=step, **{"loss/td": loss, "eval/return_mean": envs.step(chosen)[1].mean()})
"""


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """The probe's answers on the trainer, with something in it changed."""
    monkeypatch.setattr(learning_probe, "_STEPS", 512)

    def asked(old="", new=""):
        assert old in TRAINER
        (tmp_path / "small.py").write_text(TRAINER.replace(old, new) if old else TRAINER)
        (tmp_path / "config.yaml").write_text("training:\n  total_timesteps: 512\n")
        folder = tmp_path / "out"
        folder.mkdir()
        words = [
            "--run-dir",
            folder,
            "--config",
            tmp_path / "config.yaml",
            "--seed",
            1,
            tmp_path / "small.py",
        ]
        assert learning_probe.main([str(word) for word in words]) == 0
        return json.loads((folder / "learning.json").read_text())

    return asked


def test_a_sound_learner_memorises_and_what_it_did_is_told(ask):
    found = ask()
    assert [one["return"] for one in found["memorised"]] == [1.0, 1.0], found["memorised"]
    assert [(one["id"], one["problem"]) for one in found["environments"]] == [("CartPole-v1", "")]
    (environment,) = found["observed"]["environments"]
    assert (environment["id"], environment["steps"]) == ("CartPole-v1", 128)
    assert environment["rewards"]["distinct"] == [1.0]
    assert sum(environment["actions"].values()) == pytest.approx(1.0)
    assert environment["places"]["cells"] > 10
    assert all(min(norms) > 0 for norms in found["observed"]["gradients"].values())
    assert (found["observed"]["nan"], found["observed"]["ended"], found["observed"]["updates"]) == (
        None,
        "",
        2,
    )


@pytest.mark.slow
def test_nothing_of_the_watching_is_left_behind(ask):
    make, make_vec = gymnasium.make, gymnasium.make_vec
    ask("int(torch.randint(2, ()))", "None")
    assert (gymnasium.make, gymnasium.make_vec) == (make, make_vec)


def test_a_learner_that_climbs_its_loss_cannot_memorise(ask):
    found = ask("loss.backward()", "(-loss.clamp(max=4)).backward()")
    assert min(one["return"] for one in found["memorised"]) < 1.0


@pytest.mark.slow
def test_a_learner_that_never_steps_passes_at_most_by_luck_and_only_once(ask):
    found = ask("adam.step()", "pass")
    assert sorted(one["return"] for one in found["memorised"]) == [0.0, 1.0]


def test_the_operation_that_makes_the_first_nan_is_named_with_its_line(ask):
    found = ask("loss = (values[action] - reward) ** 2", "loss = (values[action] - 1e3).log()")
    line = TRAINER.splitlines().index("            loss = (values[action] - reward) ** 2") + 1
    assert found["observed"]["nan"] == {
        "operation": "aten.log",
        "file": "small.py",
        "line": line,
        "function": "train",
    }
    assert found["observed"]["spoilt"] is None  # the gradient of a logarithm below 0 is a number


def test_a_nan_of_the_backward_pass_is_named_too(ask):
    found = ask("loss = (values[action] - reward) ** 2", "loss = ((values[action] * 0).sqrt() * 0).sum()")
    assert found["observed"]["nan"]["function"] == "train"
    assert found["observed"]["nan"]["backward"] == "SqrtBackward0"
    assert found["observed"]["spoilt"]["step"] == 64
    assert found["observed"]["nan"]["line"] == TRAINER.splitlines().index("            loss.backward()") + 1


@pytest.mark.slow
def test_records_from_before_anything_is_learned_are_waited_for(ask):
    found = ask("            loss.backward()", "            if step > 128:\n                loss.backward()")
    assert found["observed"]["updates"] == 4
    assert [norm > 0 for norm in found["observed"]["gradients"]["weight"]] == [True, True]


@pytest.mark.slow
def test_a_training_that_never_learns_is_not_waited_for_for_ever(ask, monkeypatch):
    monkeypatch.setattr(training_observer, "_MOST_WAITED", 3)
    found = ask("loss.backward()", "(loss * 0).backward()")
    assert found["observed"]["updates"] == 5


@pytest.mark.slow
def test_a_crash_is_an_answer(ask):
    found = ask("loss.backward()", 'raise RuntimeError("out of luck")')
    assert found["observed"]["ended"] == "RuntimeError: out of luck"
    assert [one["why"] for one in found["memorised"]] == ["RuntimeError: out of luck"] * 2


class Unsound(gymnasium.Env):
    """It says that it shows numbers between 0 and 1, and does not."""

    observation_space = gymnasium.spaces.Box(0, 1, (2,), dtype=np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.array([5.0, 0.0], dtype=np.float32), {}

    def step(self, action):
        return np.zeros(2, dtype=np.float32), 0.0, False, False, {}


def test_an_unsound_environment_is_told_by_gymnasiums_checker():
    spec = gymnasium.envs.registration.EnvSpec(id="Unsound-v0", entry_point=Unsound)
    found = learning_probe._checked(spec)
    assert "not within the observation space" in found["problem"]
