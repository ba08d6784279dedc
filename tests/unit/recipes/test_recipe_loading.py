"""From a name to a recipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from reprokit import recipes
from reprokit.core.records import canonical_json, digest_bytes
from reprokit.core.tolerance import Tolerance
from reprokit.errors import RecipeError


def test_a_recipe_is_complete_with_every_default_filled_in(folder):
    recipe = folder.load()
    assert (recipe.name, recipe.variant, recipe.device, recipe.numerics) == (
        "cartpole",
        "cpu",
        "cpu",
        "portable",
    )
    assert (recipe.seeds, recipe.platforms) == ((42, 123), ("cpu-x86_64",))
    assert (recipe.path, recipe.file, recipe.trainer) == (folder.file.parent, folder.file, folder.trainer)
    assert recipe.training_config == {
        "environment": {"name": "CartPole-v1", "num_envs": 8},
        "training": {
            "total_timesteps": 100000,
            "learning_rate": 3e-4,
            "gamma": 0.99,
            "hidden_sizes": [64, 64],
            "activation": "tanh",
            "anneal": False,
            "target_kl": None,
        },
    }
    assert recipe.expected == {"evaluation/return": recipes.ExpectedResult(value=489.5, rtol=0.0, atol=8.2)}
    assert recipe.tolerances.default == Tolerance(rtol=0.0, atol=0.0)
    assert recipe.limits == recipes.RecipeLimits(memory_gib=4.0, timeout_s=None, pids=512)
    assert recipe.checks == recipes.CheckRules(relax=(), require=())
    assert (recipe.nondeterminism, recipe.data, recipe.modified) == (None, "none", ())


def test_everything_that_a_recipe_may_say_is_read(folder):
    folder.edit(
        "variant: cpu\n", "variant: cuda\ndevice: cuda\nnumerics: native\ndescription: |\n  Two\n  lines\n"
    )
    folder.file.write_text(
        folder.file.read_text()
        + "tolerances:\n  default: {rtol: 1e-9}\n  metrics:\n    loss/*: {atol: 1e-6}\n"
        + "nondeterminism: []\nlimits: {memory_gib: 0.5, timeout_s: 60, pids: 99}\n"
        + "checks:\n  relax: [{check: source_clean, because: a reason}]\n  require: [hardened]\n"
        + "data: [{name: x}]\n"
    )
    recipe = folder.load()
    assert (recipe.device, recipe.numerics, recipe.description) == ("cuda", "native", "Two\nlines\n")
    assert recipe.tolerances.default == Tolerance(rtol=1e-9, atol=0.0)
    assert recipe.tolerances.metrics == {"loss/*": Tolerance(rtol=0.0, atol=1e-6)}
    assert recipe.nondeterminism == ()
    assert recipe.limits == recipes.RecipeLimits(memory_gib=0.5, timeout_s=60.0, pids=99)
    assert recipe.checks.relax == (recipes.RelaxedRow(check="source_clean", because="a reason"),)
    assert recipe.checks.require == ("hardened",)
    assert recipe.data == ({"name": "x"},)


def test_a_metric_has_the_tolerance_of_its_name_then_of_the_first_pattern_then_the_default(folder):
    rules = "{loss/*: {atol: 1}, '*/value': {atol: 2}, loss/value: {atol: 3}, 'loss/[x]': {atol: 4}}"
    folder.edit("schema: 1", f"schema: 1\ntolerances: {{default: {{atol: 9}}, metrics: {rules}}}")
    tolerances = folder.load().tolerances
    names = ("loss/value", "loss/policy", "train/value", "other", "LOSS/x", "loss/[x]")
    assert [tolerances.of(name).atol for name in names] == [3, 1, 2, 9, 9, 4]


def test_a_platform_with_tolerances_of_its_own_has_only_those(folder):
    folder.edit("platforms: [cpu-x86_64]", "platforms: [cpu-x86_64, cuda-h200]")
    folder.edit(
        "schema: 1",
        "schema: 1\ntolerances: {default: {atol: 9}, metrics: {loss/*: {atol: 8}}, "
        "platforms: {cpu-x86_64: {}, cuda-h200: {metrics: {loss/*: {rtol: 0.01}}}}}",
    )
    recipe = folder.load()
    assert recipe.tolerances_on("cpu-x86_64").of("loss/value").exact
    assert recipe.tolerances_on("cuda-h200").of("loss/value") == Tolerance(rtol=0.01)
    assert recipe.tolerances_on("cuda-h200").of("other").exact
    assert recipe.tolerances_on("xla-cpu").of("loss/value") == Tolerance(atol=8.0)


@pytest.mark.parametrize(
    ("platforms", "why"),
    [
        ("{cuda-h200: {}}", "tolerances for cuda-h200, which is not one of the recipe's platforms"),
        ("{cpu: {}}", "a platform such as cpu-x86_64"),
        ("{cpu-x86_64: {default: {rtol: -1}}}", "must be at least 0"),
        ("{cpu-x86_64: {default: {rtol: .inf}}}", "not a finite number"),
        ("{cpu-x86_64: {defualt: {rtol: 1}}}", "did you mean"),
        ("{cpu-x86_64: {platforms: {}}}", "platforms"),
        ("[cpu-x86_64]", "must be a section"),
    ],
)
def test_nonsense_about_a_platforms_tolerances_is_refused_with_its_line(folder, platforms, why):
    folder.edit("schema: 1", f"schema: 1\ntolerances:\n  platforms: {platforms}")
    with pytest.raises(RecipeError, match=why) as told:
        folder.load()
    assert "recipe.yaml:" in str(told.value)


def test_plain_data_is_json_and_reads_back_as_the_same_recipe(folder):
    recipe = folder.load()
    data = recipe.as_data()
    assert json.loads(canonical_json(data)) == data
    folder.write(json.dumps(data))
    again = folder.load()
    assert again.as_data() == data
    assert again.digest == recipe.digest


def test_plain_data_is_a_copy(folder):
    recipe = folder.load()
    recipe.as_data()["training"]["gamma"] = 0
    assert recipe.as_data()["training"]["gamma"] == 0.99


def test_config_yaml_reads_back_bit_for_bit(folder, tmp_path):
    recipe = folder.load(
        "training.learning_rate=1e-5", "training.gamma=0.1", "environment.name='yes: \"1e3\"'"
    )
    (tmp_path / "config.yaml").write_text(recipe.config_yaml())
    assert recipes.read_mapping(tmp_path / "config.yaml") == recipe.training_config
    assert "learning_rate: 1.0e-05\n" in recipe.config_yaml()  # YAML 1.1 readers take 1e-05 for text


def test_config_yaml_is_the_same_for_a_reader_of_yaml_1_1(folder):
    recipe = folder.load("training.learning_rate=1e-5")
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 1)
    assert reader.load(recipe.config_yaml()) == recipe.training_config


def test_a_setting_is_found_at_its_line(folder):
    recipe = folder.load()
    assert recipe.lines["training.learning_rate"] == 12
    assert recipe.where("training.learning_rate") == f"{folder.file}:12"
    assert recipe.where("training.gamma") == f"{folder.file}:10"
    assert recipe.where("limits.pids") == f"{folder.file}:1"


def test_recipes_are_listed_by_name(folder):
    for name in ("zeta", "alpha", "_off", ".cache"):
        (folder.path / name).mkdir()
        (folder.path / name / "recipe.yaml").write_text("")
    (folder.path / "empty").mkdir()
    assert recipes.list_names(folder.path) == ["alpha", "cartpole", "zeta"]


@pytest.mark.parametrize("name", ["bad name", "cartpole.v2", "épreuve", "a" * 65, "-x"])
def test_a_folder_whose_name_no_recipe_can_have_is_listed_and_refused(folder, refused, name):
    (folder.path / name).mkdir()
    (folder.path / name / "recipe.yaml").write_text(folder.file.read_text())
    assert sorted(recipes.list_names(folder.path)) == sorted([name, "cartpole"])
    assert "cannot be a recipe's name" in refused(recipes.load, name, recipes_dir=folder.path)


def test_a_missing_recipes_folder_is_told(tmp_path, refused):
    assert "there is no folder of recipes" in refused(recipes.list_names, tmp_path / "none")
    assert "there is no folder of recipes" in refused(recipes.load, "x", recipes_dir=tmp_path / "none")


def test_a_misspelt_recipe_names_the_near_miss(folder, refused):
    assert "there is no recipe 'cartpol'. Hint: did you mean 'cartpole'?" in refused(
        recipes.load, "cartpol", recipes_dir=folder.path
    )


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a\nb", "a\0b", "-x", "é", "a" * 65, "a\x1b[2J"])
def test_a_name_that_cannot_be_one_is_refused(folder, refused, name):
    assert "cannot be a recipe's name" in refused(recipes.load, name, recipes_dir=folder.path)


def test_a_path_may_stand_for_a_name(folder, tmp_path):
    assert recipes.load(str(folder.file), recipes_dir=tmp_path / "elsewhere").digest == folder.load().digest


def test_a_recipe_outside_a_recipes_folder_uses_the_given_trainers(folder, tmp_path):
    lone = tmp_path / "lone.yaml"
    lone.write_text(folder.file.read_text().replace("name: cartpole", "name: other"))
    assert recipes.load(str(lone), recipes_dir=folder.path).trainer == folder.trainer


@pytest.mark.parametrize("path", ["{}/cartpole", "{}/cartpole/none.yaml", "{}/cartpole/", "/dev/zero"])
def test_a_path_that_is_no_recipe_file_is_refused(folder, refused, path):
    told = refused(recipes.load, path.format(folder.path), recipes_dir=folder.path)
    assert "not a file" in told or "cannot read" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "cartpole/recipe.yaml: the file is empty"),
        ("# nothing\n", "cartpole/recipe.yaml: the file is empty"),
        ("\n- 1\n- 2\n", "cartpole/recipe.yaml:2: the top level must be keys and values"),
        ("just text", "cartpole/recipe.yaml:1: the top level must be keys and values"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(folder, text, told):
    folder.write(text)
    assert folder.refusal().startswith(told)


def test_a_name_that_is_not_the_folder_s_is_refused(folder):
    folder.edit("name: cartpole", "name: other")
    told = folder.refusal()
    what = "the recipe and its folder have different names"
    assert told == f"cartpole/recipe.yaml:2: {what}. expected cartpole. got other"


def test_a_recipe_that_is_a_link_out_of_the_folder_is_refused(folder, tmp_path):
    outside = tmp_path / "outside.yaml"
    folder.file.rename(outside)
    folder.file.symlink_to(outside)
    assert "leads out of the recipes folder" in folder.refusal()


def test_a_recipes_folder_may_itself_be_a_link(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder.path)
    assert recipes.load("cartpole", recipes_dir=tmp_path / "link").digest == folder.load().digest


@pytest.mark.parametrize("name", ["../trainers/ppo", "/etc/passwd", "ppo.py", ".", "a/b", "'a\\b'"])
def test_a_trainer_is_a_plain_name(folder, name):
    folder.edit("trainer: ppo", f"trainer: {name}")
    assert folder.refusal().startswith("cartpole/recipe.yaml:5: trainer must be a plain name")


def test_a_trainer_that_is_a_link_out_of_the_folder_is_refused(folder, tmp_path):
    outside = tmp_path / "outside.py"
    folder.trainer.rename(outside)
    folder.trainer.symlink_to(outside)
    assert "cartpole/recipe.yaml:5: " in folder.refusal()
    assert "leads out of the recipes folder" in folder.refusal()


def test_a_misspelt_trainer_names_the_near_miss(folder):
    folder.edit("trainer: ppo", "trainer: pp0")
    assert (
        folder.refusal()
        == "cartpole/recipe.yaml:5: there is no trainer trainers/pp0.py. Hint: did you mean 'ppo'?"
    )


def test_mistakes_of_recipe_and_trainer_are_told_together(folder):
    folder.edit("seeds: [42, 123]", "seeds: []")
    folder.trainer.write_text("x = 1\n")
    whole, first, second = folder.refusal().splitlines()
    assert whole == "cartpole/recipe.yaml: 2 mistakes"
    assert first.startswith("  trainers/ppo.py:1: the trainer has no class Config. Hint: declare the")
    assert second == "  cartpole/recipe.yaml:6: seeds must be a list of at least 1. got a list of 0"


def test_a_section_that_is_a_key_of_every_recipe_is_refused(folder):
    folder.trainer.write_text(
        folder.trainer.read_text().replace("environment: Environment", "limits: Environment")
    )
    assert "Config cannot have the section 'limits'" in folder.refusal()


def test_the_digest_is_that_of_what_can_change_the_numbers(folder):
    before = folder.load()
    for old, new in [
        ("title: PPO on CartPole", "title: Another title\ndescription: more"),
        ("atol: 8.2", "atol: 9"),
        ("learning_rate: 3e-4", "learning_rate: 0.0003  # the same"),
        ("seeds: [42, 123]", "seeds: [42]\nlimits: {pids: 9}"),
        ("  num_envs: 8\n", "  {}\n"),
    ]:
        folder.edit(old, new)
        assert folder.load().digest == before.digest
    assert folder.load().file_digest != before.file_digest
    assert folder.load().file_digest == digest_bytes(folder.file.read_bytes())


@pytest.mark.parametrize(
    "override", ["training.gamma=0.98", "numerics=native", "environment.num_envs=4", "data=[x]"]
)
def test_what_can_change_the_numbers_changes_the_digest(folder, override):
    assert folder.load(override).digest != folder.load().digest


def test_variant_and_device_change_the_digest(folder):
    found = {
        folder.load(*settings).digest for settings in (("variant=cuda",), ("variant=cuda", "device=cpu"), ())
    }
    assert len(found) == 3


def test_one_byte_of_the_trainer_changes_the_digest(folder):
    before = folder.load().digest
    folder.trainer.write_text(folder.trainer.read_text() + "\n")
    assert folder.load().digest != before


def test_read_mapping_is_as_strict_as_a_recipe(tmp_path):
    (tmp_path / "config.yaml").write_text("a: 1\na: 2\n")
    with pytest.raises(RecipeError, match="twice"):
        recipes.read_mapping(tmp_path / "config.yaml")


def test_the_shipped_recipes_are_valid():
    root = Path(__file__).parents[3] / "recipes"
    for name in recipes.list_names(root):
        assert recipes.load(name, recipes_dir=root).name == name


def test_a_result_over_a_window_is_data_of_its_own_and_changes_no_digest(folder):
    """Without a window the data stay what they were, so that evidence of before is told alike."""
    before = folder.load()
    assert before.expected["evaluation/return"].window == "last"
    assert "window" not in before.as_data()["expected"]["evaluation/return"]
    folder.edit("{value: 489.5, atol: 8.2}", "{value: 489.5, atol: 8.2, window: mean_last_5}")
    after = folder.load()
    assert after.expected["evaluation/return"].window == "mean_last_5"
    assert after.as_data()["expected"]["evaluation/return"]["window"] == "mean_last_5"
    assert after.digest == before.digest
