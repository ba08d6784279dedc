"""Tiny trainings by DQN: what must repeat repeats, under every setting, and continues where it stopped.

They run in this process, one after the other, so that a state left behind by one would show in the next.
"""

import functools
import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from reprokit.errors import CannotRunError
from reprokit.runtime import checkpoint, config
from reprokit.runtime.launch import load_trainer
from reprokit.runtime.run import Run
from reprokit.runtime.seeding import Seeding
from reprokit.runtime.trace import digest

PROJECT = Path(__file__).resolve().parents[3]
KINDS = ("uniform", "time_balanced", "time_balanced_naive", "prioritised")
SETTINGS = {
    "environment": {"name": "CartPole-v1", "num_envs": 2, "max_episode_steps": 60},
    "model": {"hidden_sizes": [16]},
    "training": {
        "total_timesteps": 400,
        "batch_size": 8,
        "buffer_size": 150,
        "learning_starts": 50,
        "train_frequency": 2,
        "target_update": 20,
        "epsilon_decay": 300,
        "lr_schedule": "linear",
    },
    "logging": {
        "log_interval": 50,
        "save_interval": 100,
        "eval_interval": 200,
        "eval_episodes": 2,
        "final_eval_episodes": 3,
    },
}


@pytest.fixture(scope="module")
def dqn():
    return load_trainer(PROJECT / "recipes" / "trainers" / "dqn.py")


@pytest.fixture(autouse=True, scope="module")
def torch_as_in_a_run():
    """One thread, as every run has; and afterwards everything as it was."""
    mode, threads = torch.get_deterministic_debug_mode(), torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode(mode)


@pytest.fixture(scope="module")
def train(dqn, tmp_path_factory):
    """Trains with some settings changed; returns the run's folder."""

    def trained(*, resume_from=None, seed=42, **changes):
        folder = tmp_path_factory.mktemp("run")
        chosen = {name: {**section, **changes.get(name, {})} for name, section in SETTINGS.items()}
        clock = itertools.count().__next__
        with Run.open(folder, seed=seed, device="cpu", clock=clock, resume_from=resume_from) as run:
            dqn.train(config.build(dqn.Config, chosen), run)
        return folder

    return trained


@pytest.fixture(scope="module")
def whole(train):
    """The run under the named settings that the others are compared with."""
    return functools.cache(lambda name: train(**CHANGES[name]))


def records(folder, name="metrics.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def contents(folder):
    """Everything that must repeat: records, traces and the digest of every checkpoint."""
    files = {name: (folder / name).read_text() for name in ("metrics.jsonl", "trace.jsonl")}
    return files | json.loads((folder / "checkpoints" / "MANIFEST.json").read_text())["files"]


CHANGES = {
    "as they are": {},
    **{f"replay {kind}": {"training": {"replay": kind}} for kind in KINDS[1:]},
    "gradient clipping": {"training": {"max_grad_norm": 0.5}},
    "gradient accumulation": {"training": {"gradient_accumulation_steps": 4}},
    "learning rate warm-up": {"training": {"lr_warmup_steps": 200}},
    "constant learning rate": {"training": {"lr_schedule": "constant"}},
    "several updates": {"training": {"gradient_steps": 3, "train_frequency": 6}},
    "anomaly detection": {"training": {"detect_anomaly": True}},
    "bfloat16": {"training": {"precision": "bfloat16"}},
    "two hidden layers": {"model": {"hidden_sizes": [16, 8]}},
    "one environment": {"environment": {"num_envs": 1}},
    "pinpad": {"environment": {"name": "PinPad-v0", "num_envs": 5}, "training": {"train_frequency": 5}},
}
SAME_NUMBERS = {"as they are", "anomaly detection"}


@pytest.mark.parametrize("name", CHANGES)
def test_two_runs_are_byte_identical_under_every_setting(train, whole, name):
    assert contents(train(**CHANGES[name])) == contents(whole(name))
    usual = records(whole("as they are"))
    assert (records(whole(name)) == usual) is (name in SAME_NUMBERS)


def test_the_plain_and_the_fast_time_balance_train_alike(whole):
    plain, fast = (whole(f"replay {kind}") for kind in ("time_balanced_naive", "time_balanced"))
    assert (plain / "metrics.jsonl").read_text() == (fast / "metrics.jsonl").read_text()


def test_another_seed_gives_other_numbers(train, whole):
    assert records(train(seed=43))[0] != records(whole("as they are"))[0]


@pytest.mark.parametrize(
    ("name", "unseeded"),
    [
        ("numpy_generator", lambda seeding, name: np.random.default_rng()),
        ("environment_seeds", lambda seeding, num_envs: [None] * num_envs),
    ],
)
def test_a_generator_without_a_seed_gives_another_run_every_time(train, whole, monkeypatch, name, unseeded):
    """The planted faults: exploration and replay, then the environments, seeded by chance."""
    monkeypatch.setattr(Seeding, name, unseeded)
    one, other = train(), train()
    assert records(one) != records(other)
    assert records(one) != records(whole("as they are"))


def test_records_come_at_the_promised_steps_with_every_quantity_that_a_reader_expects(whole):
    folder = whole("as they are")
    assert [record["step"] for record in records(folder)] == list(range(50, 401, 50))
    assert [record["step"] for record in records(folder, "trace.jsonl")] == list(range(50, 401, 50))
    assert "loss/td" not in records(folder)[0]  # 50 steps of warm-up
    last = records(folder)[-1]
    assert next(iter(last)) == "step"
    assert {
        "train/episodic_return",
        "train/episodic_length",
        "loss/td",
        "q/mean",
        "q/magnitude",
        "q/bound",
        "q/beyond_bound",
        "optim/grad_norm",
        "optim/learning_rate",
        "exploration/epsilon",
        "replay/size",
        "eval/return_mean",
        "eval/success_rate",
        "final/return_mean",
        "final/success_rate",
    } <= last.keys()
    assert last["replay/size"] == 150
    assert last["q/bound"] == pytest.approx(sum(0.99**t for t in range(60)))


def test_evaluation_changes_no_number_of_the_training(train, whole):
    usual = whole("as they are")
    often = train(logging={"eval_interval": 1, "eval_episodes": 5, "final_eval_episodes": 7})
    seldom = train(logging={"eval_interval": 10_000, "eval_episodes": 1})
    assert sum("eval/return_mean" in record for record in records(often)) == 8
    assert sum("eval/return_mean" in record for record in records(seldom)) == 0
    for other in (often, seldom):
        for one, two in zip(records(usual), records(other), strict=True):
            training = {name for name in one if not name.startswith(("eval/", "final/"))}
            assert {name: one[name] for name in training} == {name: two[name] for name in training}
        assert (usual / "trace.jsonl").read_text() == (other / "trace.jsonl").read_text()
        checkpoints = [json.loads((one / "checkpoints/MANIFEST.json").read_text()) for one in (usual, other)]
        assert checkpoints[0] == checkpoints[1]


@pytest.mark.parametrize("name", ["as they are", *(f"replay {kind}" for kind in KINDS[1:]), "pinpad"])
@pytest.mark.parametrize("step", [100, 300])
def test_a_resumed_run_goes_on_bit_for_bit(train, whole, name, step):
    reference = whole(name)
    resumed = train(resume_from=reference / "checkpoints" / f"checkpoint_{step}.pt", **CHANGES[name])
    for file in ("metrics.jsonl", "trace.jsonl"):
        assert records(resumed, file) == [one for one in records(reference, file) if one["step"] > step]
    first, second = contents(reference), contents(resumed)
    assert second["final_model.pt"] == first["final_model.pt"]
    later = [file for file in second if file.endswith(".pt")]
    assert len(later) == 1 + (400 - step) // 100
    assert all(second[file] == first[file] for file in later)


def nudge(tensor, at=0):
    flat = tensor.numpy().reshape(-1)
    flat[at] = flat[at] + 0.25 if flat.dtype.kind == "f" else flat[at] ^ 1


def add_to(place, key, amount=1):
    place[key] += amount


def generator_of(name):
    return lambda state: add_to(state["random"]["generators"][name]["state"], "state")


ALTERED = {
    "a parameter": lambda state: nudge(state["model"]["weights.0"], 3),
    "the target": lambda state: nudge(state["extra"]["learner"]["target"]["biases.1"], 1),
    "a first moment": lambda state: nudge(state["optimizer"]["mean"], 3),
    "a second moment": lambda state: nudge(state["optimizer"]["mean_square"], 3),
    "the optimizer's count": lambda state: add_to(state["optimizer"], "steps"),
    "the exploration's generator": generator_of("exploration"),
    "the replay's generator": generator_of("replay"),
    "a stored observation": lambda state: nudge(replay(state)["contents"]["observations"], -1),
    "a stored reward": lambda state: nudge(replay(state)["contents"]["rewards"], -1),
    "a stored action": lambda state: nudge(replay(state)["contents"]["actions"], -1),
    "a priority": lambda state: nudge(replay(state)["sampler"]["priorities"], -1),
    "the highest priority": lambda state: add_to(replay(state)["sampler"], "highest"),
    "the count of transitions": lambda state: add_to(replay(state), "num_added"),
    "the count of updates": lambda state: add_to(state["extra"]["learner"], "num_updates"),
    "the trace's count": lambda state: add_to(state["extra"], "updates"),
    "an observation": lambda state: nudge(state["extra"]["players"]["observations"], 2),
    "a return": lambda state: add_to(state["extra"]["players"]["returns"], 0),
    "the largest reward": lambda state: add_to(state["extra"]["learner"], "largest_reward"),
    "an environment": lambda state: nudge(
        state["random"]["environments"][1][2]["attributes"]["state"]["__array__"], 1
    ),
    "the step": lambda state: add_to(state, "step", 50),
}


def replay(state):
    return state["extra"]["learner"]["replay"]


@pytest.fixture(scope="module")
def prioritised(whole):
    return whole("replay prioritised")


def test_every_single_altered_state_shows_after_a_resume(train, prioritised, tmp_path):
    """The planted faults: one number, one count, the place of one generator."""
    first = prioritised / "checkpoints" / "checkpoint_300.pt"
    unseen = []
    for name, change in ALTERED.items():
        state = checkpoint.load(first)
        change(state)
        altered = tmp_path / "altered.pt"
        torch.save(state, altered)
        resumed = train(resume_from=altered, training={"replay": "prioritised"})
        metrics = [record for record in records(prioritised) if record["step"] > 300]
        last = [checkpoint.load(one / "checkpoints" / "checkpoint_400.pt") for one in (prioritised, resumed)]
        if records(resumed) == metrics and digest(last[0]) == digest(last[1]):
            unseen.append(name)
    assert unseen == []


def test_a_checkpoint_of_other_sizes_is_refused(train, prioritised):
    path = prioritised / "checkpoints" / "checkpoint_300.pt"
    with pytest.raises(CannotRunError, match="replay observations"):
        train(resume_from=path, training={"replay": "prioritised", "buffer_size": 120})


def test_a_training_starts_from_a_pretrained_model(dqn, whole, tmp_path):
    source = whole("as they are") / "checkpoints" / "final_model.pt"
    settings = config.build(dqn.Config, {**SETTINGS, "model": {"hidden_sizes": [16], "pretrained": "before"}})
    folder = tmp_path / "pretrained"
    folder.mkdir()
    with Run.open(
        folder, seed=42, device="cpu", clock=random.Random(0).random, data={"before": source}
    ) as run:
        spec = dqn.spec_of(settings.environment.name, max_episode_steps=60)
        players = dqn.Players([spec] * 2, [1, 2])
        learner = dqn.learner_of(settings, run, players, np.random.default_rng(0))
    trained = checkpoint.load(source)
    for network in (learner.model, learner.target):
        assert all(torch.equal(one, trained[name]) for name, one in network.state_dict().items())
