"""The planted learning regressions still fit the trainers and recipes that they change."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

from reprokit import recipes

ROOT = Path(__file__).resolve().parents[3]
_spec = importlib.util.spec_from_file_location(
    "learning_regressions", ROOT / "benchmarks/learning_regressions.py"
)
script = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(script)


def test_there_are_twelve_plants_or_more_and_no_name_twice():
    names = [plant.name for plant in script.PLANTS]
    assert len(names) == len(set(names)) >= 12


@pytest.mark.parametrize("plant", script.PLANTS, ids=lambda plant: plant.name)
def test_a_plant_changes_either_the_trainer_or_a_setting(plant):
    assert bool(plant.texts) != bool(plant.settings)


@pytest.mark.parametrize("plant", [one for one in script.PLANTS if one.texts], ids=lambda plant: plant.name)
def test_a_plant_still_fits_the_trainer_or_a_part_of_it(plant, tmp_path):
    source = (ROOT / plant.file).read_text()
    file = tmp_path / plant.file
    file.parent.mkdir(parents=True)
    file.write_text(source)
    script.plant_in(tmp_path, plant)
    assert ast.dump(ast.parse(file.read_text())) != ast.dump(ast.parse(source))
    with pytest.raises(ValueError, match="stands 0 times"):
        script.planted(plant, source.replace(plant.texts[0][0], ""))


@pytest.mark.parametrize("plant", [one for one in script.PLANTS if one.texts], ids=lambda plant: plant.name)
def test_a_plant_is_in_what_its_recipe_runs(plant):
    recipe = recipes.load(plant.recipe, recipes_dir=ROOT / "recipes")
    assert (ROOT / plant.file) in {recipe.trainer, *(part.path for part in recipe.parts)}


@pytest.mark.parametrize(
    "plant", [one for one in script.PLANTS if one.settings], ids=lambda plant: plant.name
)
def test_a_plant_still_changes_a_setting_of_the_recipe(plant):
    recipe = (ROOT / f"recipes/{plant.recipe}/recipe.yaml").read_text()
    for setting in plant.settings:
        name, _, value = setting.removeprefix("training.").partition("=")
        assert re.search(rf"^  {name}: (?!{re.escape(value)}$)", recipe, flags=re.MULTILINE)
