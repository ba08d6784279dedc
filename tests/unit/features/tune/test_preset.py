"""The preset of a recipe: what it has of a reinforcement learner's settings, learning rate first."""

from __future__ import annotations

from pathlib import Path

import pytest

import reprokit
from reprokit.errors import UsageError
from reprokit.features.tune.preset import load_preset
from reprokit.project import Project
from support.tuned_program import prepare

ROOT = Path(reprokit.__file__).parents[1]


def test_the_settings_come_in_the_order_of_what_matters():
    space = load_preset("cartpole_dqn", settings=(), project=Project.around(ROOT))
    assert [one.setting for one in space[:5]] == [
        "training.learning_rate",
        "model.hidden_sizes",
        "training.batch_size",
        "training.gamma",
        "training.epsilon_end",
    ]


def test_what_is_set_is_not_searched():
    space = load_preset(
        "cartpole_dqn", settings=("training.learning_rate=1e-3",), project=Project.around(ROOT)
    )
    assert space[0].setting == "model.hidden_sizes"


def test_choices_that_the_recipe_refuses_are_left_out():
    fixed = ("training.rollout_steps=8", "training.batch_size=64")
    space = load_preset("cartpole_baseline", settings=fixed[:0], project=Project.around(ROOT))
    whole = next(one for one in space if one.setting == "training.batch_size")
    small = load_preset("cartpole_baseline", settings=fixed, project=Project.around(ROOT))
    assert whole.choices == (32, 64, 128, 256)
    assert all(one.setting != "training.batch_size" for one in small)


def test_a_recipe_without_any_of_them_asks_for_a_space(tmp_path):
    root = prepare(tmp_path / "theirs").root
    with pytest.raises(UsageError, match=r"no setting that the preset knows.*--space FILE"):
        load_preset("train", settings=(), project=Project.around(root))
