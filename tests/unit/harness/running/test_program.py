"""Data that a recipe declares: read next to it, compared with its digest, put into every run folder."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.core.records import Realisation
from reprokit.errors import RecipeError
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.plan import plan_recipe
from reprokit.harness.running.programs.program import declared

PROJECT = Path(__file__).resolve().parents[4]
REALISATION = Realisation(
    variant="cpu", kind="venv", reference="", digest="sha256:0", python="python", lock_digest="sha256:0"
)


@pytest.fixture
def project(tmp_path):
    shutil.copytree(PROJECT / "recipes", tmp_path / "recipes")
    return tmp_path


def curriculum(project):
    return recipes.load("curriculum", recipes_dir=project / "recipes")


def plan_of(recipe, project, **more):
    there = Environment(realisation=REALISATION, backend="local", runs_dir=project / "runs")
    return plan_recipe(recipe, seed=42, environment=there, stamp="T", **more)


def test_the_file_is_in_the_run_folder_on_the_command_line_and_in_the_record(project):
    plan = plan_of(curriculum(project), project)
    content = (project / "recipes" / "curriculum" / "levels.json").read_bytes()
    sha256 = "sha256:" + hashlib.sha256(content).hexdigest()
    assert plan.files["source/curriculum/levels.json"] == content
    assert plan.facts["data"] == {"levels.json": sha256}
    words = plan.specs[0].command
    at = words.index("--data")
    assert words[at + 1 : at + 4] == ("levels.json", sha256, "{mounts}/recipes/curriculum/levels.json")
    assert at < words.index("--")


def test_a_recipe_without_data_says_nothing_of_it(project):
    plan = plan_of(recipes.load("cartpole_baseline", recipes_dir=project / "recipes"), project)
    assert "--data" not in plan.specs[0].command
    assert "data" not in plan.facts


def test_another_file_than_declared_and_a_missing_one_are_refused_with_the_line(project):
    levels = project / "recipes" / "curriculum" / "levels.json"
    levels.write_bytes(levels.read_bytes() + b"\n")
    with pytest.raises(
        RecipeError, match=r"recipe\.yaml:\d+: the data levels\.json is not the declared file"
    ):
        plan_of(curriculum(project), project)
    levels.unlink()
    with pytest.raises(RecipeError, match=r"the data levels\.json cannot be read"):
        plan_of(curriculum(project), project)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("levels.json", "data without a file's name"),
        ({"name": "../levels.json", "sha256": "sha256:" + "0" * 64}, "data without a file's name"),
        ({"name": "recipe.yaml", "sha256": "sha256:" + "0" * 64}, "data without a file's name"),
        ({"name": ".hidden", "sha256": "sha256:" + "0" * 64}, "data without a file's name"),
        ({"name": "levels.json", "sha256": "abc"}, "has no SHA-256"),
        ({"name": "levels.json"}, "has no SHA-256"),
    ],
)
def test_an_entry_that_names_no_file_is_refused(project, entry, told):
    with pytest.raises(RecipeError, match=told):
        declared(replace(curriculum(project), data=(entry,)))


def test_a_profile_is_asked_for_on_the_command_line(project):
    recipe = curriculum(project)
    assert "--profile-step" not in plan_of(recipe, project).specs[0].command
    words = plan_of(recipe, project, profile_step=100).specs[0].command
    assert words[words.index("--profile-step") + 1] == "100"


def test_a_link_out_of_the_project_is_not_copied_into_a_run_folder(project, tmp_path_factory):
    levels = project / "recipes" / "curriculum" / "levels.json"
    outside = tmp_path_factory.mktemp("private") / "levels.json"
    levels.rename(outside)
    levels.symlink_to(outside)
    with pytest.raises(
        RecipeError, match=r"recipe\.yaml:\d+: the data levels\.json is a link that leads out"
    ):
        plan_of(curriculum(project), project)
    levels.unlink()
    outside.rename(project / "levels.json")
    levels.symlink_to("../../levels.json")
    assert plan_of(curriculum(project), project).files["source/curriculum/levels.json"]
