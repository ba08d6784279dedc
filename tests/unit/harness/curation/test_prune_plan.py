"""``checkpoints.keep`` of a recipe reaches the program that trains, and no digest that numbers stand on."""

import shutil
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.core.records import Realisation
from reprokit.errors import RecipeError
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.plan import plan_recipe

ROOT = Path(__file__).resolve().parents[4]
VENV = Realisation(
    variant="cpu",
    kind="venv",
    reference="/v",
    digest="sha256:a",
    python="/v/bin/python",
    lock_digest="sha256:b",
)


@pytest.fixture
def recipe_with(tmp_path):
    for name in ("trainers", "parts"):
        shutil.copytree(ROOT / "recipes" / name, tmp_path / name)
    shutil.copytree(ROOT / "recipes" / "cartpole_baseline", tmp_path / "cartpole_baseline")

    def changed(text):
        file = tmp_path / "cartpole_baseline" / "recipe.yaml"
        file.write_text((ROOT / "recipes" / "cartpole_baseline" / "recipe.yaml").read_text() + text)
        return recipes.load("cartpole_baseline", recipes_dir=tmp_path)

    return changed


def command(recipe, tmp_path):
    there = Environment(realisation=VENV, backend="local", runs_dir=tmp_path / "runs")
    plan = plan_recipe(recipe, seed=42, environment=there, stamp="T")
    return plan.specs[0].command


def test_it_reaches_the_program_and_no_digest(recipe_with, tmp_path):
    plain, keeping = recipe_with(""), recipe_with("checkpoints:\n  keep: 3\n")
    assert "--keep-checkpoints" not in command(plain, tmp_path)
    words = command(keeping, tmp_path)
    at = words.index("--keep-checkpoints")
    assert words[at + 1] == "3"
    assert at < words.index("--")
    assert keeping.digest == plain.digest
    assert keeping.config_yaml() == plain.config_yaml()
    assert keeping.as_data()["checkpoints"] == {"keep": 3}


@pytest.mark.parametrize("text", ["keep: 0", "keep: -1", "keep: 1.5", "keep: yes", "kept: 3"])
def test_what_makes_no_sense_is_refused_with_its_line(recipe_with, text):
    with pytest.raises(RecipeError, match=r"recipe\.yaml:\d+"):
        recipe_with(f"checkpoints:\n  {text}\n")
