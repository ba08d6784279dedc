"""`recipe check` says what is wrong before anything runs; `recipe schema` is what editors take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit.cli import main

RECIPE = """\
schema: 1
name: train
title: A program
variant: none
command: [python, train.py, --seed, "{seed}", --out, "{run_dir}"]
seeds: [3, 4]
platforms: [cpu-x86_64]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "recipes" / "train").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tool(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["recipe", *words])
    return int(ended.value.code or 0)


def check(project: Path, capsys: pytest.CaptureFixture[str], text: str, *words: str) -> tuple[int, str]:
    (project / "recipes/train/recipe.yaml").write_text(text)
    code = tool("check", *words)
    return code, capsys.readouterr().out


def test_a_sound_recipe_has_no_mistakes_and_is_told_what_it_lacks(project, capsys):
    code, said = check(project, capsys, RECIPE)
    assert code == 0
    assert said.startswith("train: no mistakes\n")
    assert "recipe.yaml:4: nothing pins the environment" in said
    assert "no golden on cpu-x86_64 for seed 3, 4" in said
    assert "hint: reprokit golden promote train --seed 3" in said


def test_every_mistake_has_its_line(project, capsys):
    code, said = check(project, capsys, RECIPE.replace("seeds:", "seed:").replace("title: A program\n", ""))
    assert code == 2
    assert said.startswith("train: cannot run\n")
    assert "recipe.yaml:5: unknown key 'seed'" in said
    assert "did you mean 'seeds'?" in said
    assert "title is missing" in said


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (' --seed, "{seed}",', "", "recipe.yaml:5: no {seed} in the command"),
        (', --out, "{run_dir}"', "", "no metrics are found"),
        ("variant: none", "variant: cpux", "cannot run"),
    ],
)
def test_what_a_command_leaves_out_is_said(project, capsys, old, new, told):
    _, said = check(project, capsys, RECIPE.replace(old, new))
    assert told in said


def test_an_environment_that_is_not_there_is_a_mistake(project, capsys):
    code, said = check(project, capsys, RECIPE.replace("variant: none", "variant: mine"), "--json")
    [first, *_] = json.loads(said)["train"]
    assert (code, first["level"]) == (2, "mistake")


def test_no_recipe_is_no_success(project, capsys):
    assert tool("check") == 4


def test_the_schema_is_a_schema_and_knows_every_key(project, capsys):
    jsonschema = pytest.importorskip("jsonschema")
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe")
    assert tool("schema") == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert not list(validator.iter_errors(yaml.load(RECIPE)))
    assert list(validator.iter_errors(yaml.load(RECIPE.replace("seeds:", "sedes:"))))
    assert list(validator.iter_errors(yaml.load(RECIPE.replace("[3, 4]", "[-3]"))))


def test_the_schema_of_a_trainer_holds_the_recipes_that_use_it(capsys):
    jsonschema = pytest.importorskip("jsonschema")
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe")
    recipe = yaml.load(Path("recipes/cartpole_baseline/recipe.yaml").read_text())
    for words in ([], ["--trainer", recipe["trainer"]]):
        assert tool("schema", *words) == 0
        validator = jsonschema.Draft202012Validator(json.loads(capsys.readouterr().out))
        assert not list(validator.iter_errors(recipe))
    recipe["training"]["learning_rat"] = 1
    assert list(validator.iter_errors(recipe))
    assert tool("schema", "--trainer", "pp0") == 2
    assert "did you mean" in capsys.readouterr().err
