"""PPO on several tasks and on levels: what is not there is never drawn or seen; levels are climbed."""

import json
import math
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from recipes.parts.playing import Players  # noqa: E402
from recipes.parts.tasks import Curriculum, read_levels, tasks_of  # noqa: E402
from reprokit.runtime import config  # noqa: E402
from reprokit.runtime.launch import load_trainer  # noqa: E402
from reprokit.runtime.run import Run  # noqa: E402

PROJECT = Path(__file__).resolve().parents[3]
THREE = ["CartPole-v1", "Acrobot-v1", "MountainCar-v0"]
LEVELS = [
    {"max_episode_steps": 4, "reset": {"low": -0.01, "high": 0.01}, "pass_return": 3.5},
    {"max_episode_steps": 12, "pass_return": 499},
    {"max_episode_steps": 20, "reset": {"low": -0.1, "high": 0.1}},
]


@pytest.fixture(scope="module")
def trainer():
    return load_trainer(PROJECT / "recipes" / "trainers" / "ppo_tasks.py")


@pytest.fixture
def levels(tmp_path):
    path = tmp_path / "levels.json"
    path.write_text(json.dumps(LEVELS))
    return path


def trained(trainer, folder, *, data=None, resume_from=None, seed=7, **environment):
    given = {
        "environment": {"num_envs": 4, **environment},
        "model": {"hidden_sizes": [8]},
        "training": {"total_timesteps": 1024, "rollout_steps": 64, "batch_size": 64, "n_epochs": 1},
        "logging": {
            "save_interval": 256,
            "eval_interval": 512,
            "eval_episodes": 2,
            "final_eval_episodes": 3,
        },
    }
    folder.mkdir()
    with Run.open(
        folder, seed=seed, device="cpu", clock=time.perf_counter, data=data, resume_from=resume_from
    ) as run:
        trainer.train(config.build(trainer.Config, given), run)
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def three():
    return tasks_of(THREE, num_envs=6, levels=read_levels(None))


def test_the_tasks_are_as_long_and_as_wide_as_gymnasium_says():
    tasks = three()
    assert [task.spec.id for task in tasks] == THREE
    assert [(task.width, task.num_actions) for task in tasks] == [(4, 2), (6, 3), (2, 3)]
    assert [task.spec.max_episode_steps for task in tasks] == [500, 500, 200]


def test_an_action_that_a_task_lacks_has_no_chance(trainer):
    tasks = three()
    model = trainer.ActorCritic(tasks, trainer.Model(hidden_sizes=(8,)))
    task_of = np.array([0, 1, 2, 0])
    rows = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    logits, _ = model(torch.from_numpy(model.seen(task_of)(rows)))
    chances = logits.softmax(dim=1)
    assert chances[[0, 3], 2].tolist() == [0, 0]
    assert (chances[[1, 2]] > 0.1).all()
    assert torch.isfinite(trainer.entropy_of(logits)).all()
    np.testing.assert_allclose(model.actor(task_of)(rows)[1:3], logits[1:3].detach(), atol=1e-5)


def test_players_see_zeros_beyond_a_tasks_own_observation(trainer):
    task_of = np.repeat(np.arange(3), 2)
    players = trainer.Players([three()[task].spec for task in task_of], list(range(6)), task_of=task_of)
    rollout = players.play(lambda seen: np.tile([0, 0, -1e9], (len(seen), 1)), 50)
    assert not rollout.observations[:, :2, 4:].any()
    assert rollout.observations[:, 2:4, 4:].any()
    assert not rollout.observations[:, 4:, 2:].any()


def test_each_task_has_statistics_of_its_own(trainer, tmp_path):
    trained(trainer, tmp_path / "run", tasks=THREE, num_envs=6)
    state = torch.load(tmp_path / "run" / "checkpoints" / "final_model.pt", weights_only=True)
    means = [state[f"observation_moments.{task}.mean"] for task in range(3)]
    assert all(float(state[f"observation_moments.{task}.count"]) == 384 for task in range(3))
    assert means[0][4:].tolist() == [0, 0]
    assert means[2][2:].tolist() == [0] * 4
    assert -0.7 < float(means[2][0]) < -0.3  # where MountainCar's valley is


def test_advantages_are_even_within_each_task(trainer):
    advantages = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32) * [1, 1, 1000, 1000] + 5
    even = trainer.standardised(advantages, np.array([0, 0, 1, 1]))
    for own in (even[:, :2], even[:, 2:]):
        assert own.mean() == pytest.approx(0, abs=1e-6)
        assert own.std() == pytest.approx(1, abs=1e-6)


def test_several_tasks_are_evaluated_each_by_itself(trainer, tmp_path):
    last = trained(trainer, tmp_path / "run", tasks=THREE, num_envs=6)[-1]
    for task, (worst, best) in zip(THREE, [(8, 500), (-500, -60), (-200, -80)], strict=True):
        assert worst <= last[f"final/{task}/return_min"] <= last[f"final/{task}/return_max"] <= best


def test_a_mean_return_is_logged_once_an_episode_has_ended_and_is_never_nan(trainer, tmp_path):
    records = trained(trainer, tmp_path / "run", tasks=THREE, num_envs=6)
    last = records[-1]
    assert last["step"] // 6 < 200  # fewer steps than MountainCar's and Acrobot's shortest episodes here
    logged = {task for task in THREE if f"train/{task}/episodic_return" in last}
    assert logged == {"CartPole-v1"}
    assert not any(math.isnan(value) for record in records for value in record.values())


def test_levels_are_climbed_when_episodes_return_enough(trainer, tmp_path, levels):
    data = {"levels.json": levels}
    records = trained(trainer, tmp_path / "run", data=data, tasks=["CartPole-v1"], curriculum="levels.json")
    levels_seen = [record["curriculum/level"] for record in records]
    assert levels_seen[0] == 1
    assert set(levels_seen) == {1, 2}  # no one returns 499 of 12
    last = records[-1]
    assert 4 <= last["train/CartPole-v1/episodic_return"] <= 12
    assert last["final/CartPole-v1/return_max"] <= 20  # the last level's limit


def test_a_start_level_begins_there(trainer, tmp_path, levels):
    data = {"levels.json": levels}
    records = trained(
        trainer,
        tmp_path / "run",
        data=data,
        tasks=["CartPole-v1"],
        curriculum="levels.json",
        curriculum_start_level=3,
    )
    assert {record["curriculum/level"] for record in records} == {3}


def test_a_resumed_curriculum_goes_on_at_its_level(trainer, tmp_path, levels):
    how = {"data": {"levels.json": levels}, "tasks": ["CartPole-v1"], "curriculum": "levels.json"}
    whole = trained(trainer, tmp_path / "whole", **how)
    climbed = next(record["step"] for record in whole if record["curriculum/level"] == 2)
    assert climbed == 768  # a hundred episodes of four steps are there after the second update
    for step in (256, 512):
        stopped = tmp_path / "whole" / "checkpoints" / f"checkpoint_{step}.pt"
        resumed = trained(trainer, tmp_path / f"resumed-{step}", resume_from=stopped, **how)
        later = [record for record in whole if record["step"] > step]
        assert [repr(record) for record in resumed] == [repr(record) for record in later]


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"tasks": THREE, "num_envs": 4}, "as many of each"),
        ({"tasks": ["CartPole-v1", "CartPole-v1"]}, "as many of each"),
        ({"tasks": ["CartPole-v1", "Acrobot-v1"], "curriculum": "levels.json"}, "a single task"),
        ({"tasks": ["CartPole-v1"], "curriculum": "levels.json", "curriculum_start_level": 4}, "4 of 3"),
        ({"tasks": ["CartPole-v1"], "curriculum_start_level": 2}, "2 of 1"),
    ],
)
def test_what_cannot_be_played_is_refused(trainer, tmp_path, levels, environment, told):
    with pytest.raises(ValueError, match=told):
        trained(trainer, tmp_path / "run", data={"levels.json": levels}, **environment)


def test_an_environment_with_other_actions_is_refused(trainer, tmp_path):
    with pytest.raises(TypeError, match="discrete actions"):
        trained(trainer, tmp_path / "run", tasks=["Pendulum-v1"])


def test_the_goal_is_where_evaluation_starts(levels):
    read = read_levels(levels)
    (task,) = tasks_of(["CartPole-v1"], num_envs=4, levels=read)
    assert Curriculum(read, start=3).told() == {"reset_options": {"low": -0.1, "high": 0.1}, "limit": 20}
    assert task.spec.max_episode_steps == 20
    env = gymnasium.make(task.spec)
    seen = np.abs([env.reset(seed=seed, options=read[0].reset)[0] for seed in range(20)])
    assert seen.max() <= 0.01


def test_a_level_is_left_after_a_hundred_episodes_that_returned_enough_and_not_before(levels):
    read = read_levels(levels)
    (task,) = tasks_of(["CartPole-v1"], num_envs=1, levels=read)
    curriculum = Curriculum(read, start=1)
    players = Players([task.spec], [1], **curriculum.told())
    for returned, count, expected in ((3.5, 99, 1), (3.4, 1, 1), (3.6, 1, 2)):
        players.recent[0].extend([(returned, 4)] * count)
        curriculum.climb(players)
        assert curriculum.number == expected
    assert (players.limit, players.reset_options, len(players.recent[0])) == (12, None, 0)
    players.recent[0].extend([(498.0, 498)] * 100)
    curriculum.climb(players)
    assert curriculum.number == 2
