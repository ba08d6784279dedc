"""A small project of recipes, made again for each test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.errors import RecipeError

TRAINER = '''\
"""A trainer; importing it would fail on purpose."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

import a_package_that_no_host_has
from annotated_types import Gt


@dataclass(frozen=True)
class Environment:
    """What is simulated."""

    name: str = "CartPole-v1"
    num_envs: Annotated[int, Gt(0)] = 8
    """How many at one time."""


@dataclass(frozen=True)
class Training:
    total_timesteps: int
    learning_rate: Annotated[float, Gt(0)] = 3e-4
    gamma: float = 0.99
    hidden_sizes: tuple[int, ...] = (64, 64)
    activation: Literal["tanh", "relu"] = "tanh"
    anneal: bool = False
    target_kl: float | None = None


@dataclass(frozen=True)
class Config:
    environment: Environment = field(default_factory=Environment)
    training: Training = field(default_factory=Training)
'''

RECIPE = """\
schema: 1
name: cartpole
title: PPO on CartPole
variant: cpu
trainer: ppo
seeds: [42, 123]
platforms: [cpu-x86_64]
environment:
  num_envs: 8
training:
  total_timesteps: 100000
  learning_rate: 3e-4
expected:
  evaluation/return: {value: 489.5, atol: 8.2}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipesFolder:
    """A recipes folder with one recipe, ``cartpole``, and one trainer, ``ppo``."""

    path: Path

    @property
    def file(self) -> Path:
        return self.path / "cartpole" / "recipe.yaml"

    @property
    def trainer(self) -> Path:
        return self.path / "trainers" / "ppo.py"

    def write(self, text: str) -> None:
        self.file.write_text(text)

    def edit(self, old: str, new: str) -> None:
        assert old in self.file.read_text()
        self.file.write_text(self.file.read_text().replace(old, new))

    def load(self, *overrides: str) -> recipes.Recipe:
        return recipes.load("cartpole", recipes_dir=self.path, overrides=overrides)

    def refusal(self, *overrides: str) -> str:
        with pytest.raises(RecipeError) as caught:
            self.load(*overrides)
        assert caught.value.exit_code == 2
        return str(caught.value).replace(f"{self.path}/", "")


@pytest.fixture
def folder(tmp_path: Path) -> RecipesFolder:
    folder = RecipesFolder(path=tmp_path / "recipes")
    folder.file.parent.mkdir(parents=True)
    folder.trainer.parent.mkdir()
    folder.file.write_text(RECIPE)
    folder.trainer.write_text(TRAINER)
    return folder


@pytest.fixture
def refused() -> Callable[..., str]:
    """Call something that must end in a RecipeError, and return what it says."""

    def refusal(call: Callable[..., object], *arguments: object, **words: object) -> str:
        with pytest.raises(RecipeError) as caught:
            call(*arguments, **words)
        return str(caught.value)

    return refusal
