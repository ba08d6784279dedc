"""A recipe with a command in place of a trainer: what it may say, and what is refused."""

from __future__ import annotations

import pytest

from reprokit.errors import RecipeError

COMMAND = """\
schema: 1
name: cartpole
title: A program as it is
variant: mine
command: [python, train.py, --seed, "{seed}"]
seeds: [1, 2]
platforms: [cpu-x86_64]
"""


@pytest.fixture
def said(folder):
    def write(more=""):
        folder.write(COMMAND + more)
        return folder

    return write


def test_a_command_stands_in_place_of_a_trainer(said):
    recipe = said().load()
    assert recipe.trainer is None
    assert recipe.program.command == ("python", "train.py", "--seed", "{seed}")
    assert (recipe.variant, recipe.device, recipe.numerics) == ("mine", "cpu", "native")


@pytest.mark.parametrize("setting", ["lr=0.05,0.2", "optim.lr=0.05", "qqq=1"])
def test_a_setting_that_is_an_option_of_the_program_is_told_how_to_set_it(said, setting):
    with pytest.raises(RecipeError) as refused:
        said().load(setting)
    name = setting.split("=", maxsplit=1)[0].rpartition(".")[2]
    assert f'`reprokit sweep cartpole --args "--{name} VALUE"`' in refused.value.fix


def test_a_misspelt_setting_of_a_recipe_of_a_command_is_corrected(said):
    with pytest.raises(RecipeError, match="did you mean 'limits'"):
        said().load("limit.pids=9")


def test_its_configuration_is_the_command_and_what_it_is_given(said):
    recipe = said("env: {LR: '0.1'}\nworking_dir: src\n").load()
    assert recipe.training_config == {
        "command": ["python", "train.py", "--seed", "{seed}"],
        "env": {"LR": "0.1"},
        "working_dir": "src",
    }


@pytest.mark.parametrize(
    ("more", "changes"),
    [
        ("env: {LR: '0.1'}\n", True),
        ("sees: [src/]\n", True),
        ("volatile: [{metric: fps, because: clock}]\n", True),
        ("resume: {resume_args: [--resume]}\n", False),
        ("description: more of it\n", False),
        ("limits: {memory_gib: 2}\n", False),
    ],
)
def test_the_digest_holds_what_can_change_its_numbers(said, more, changes):
    assert (said().load().digest != said(more).load().digest) is changes


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("trainer: ppo\n", "a recipe has a trainer or a command, not both"),
        ("env: {PYTHONHASHSEED: '1'}\n", "another variable: this one is set by reprokit"),
        ("env: {PYTHONHOME: x}\n", "another variable: this one is set by reprokit"),
        (
            "env: {PYTHONPATH: 'src:/opt/lib'}\n",
            "without a folder outside the project in PYTHONPATH (/opt/lib)",
        ),
        ("env: {PYTHONPATH: 'src/../../lib'}\n", "without a folder outside the project in PYTHONPATH"),
        ("collect: [/tmp/x]\n", "a path or pattern below the project's folder"),
        ("collect: [../x]\n", "a path or pattern below the project's folder"),
        ("printed: ['loss (\\S+)']\n", "a regular expression with a named group for each metric"),
        ("printed: ['loss (?P<loss']\n", "a regular expression ("),
        ("volatile: [{metric: fps}]\n", "volatile.0.because is missing"),
        ("numerics: portable\n", None),
        ("expect: {}\n", "did you mean 'expected'?"),
    ],
)
def test_what_means_nothing_is_refused_with_the_reason(said, more, told):
    if told is None:
        assert said(more).load().numerics == "portable"
    else:
        assert told in said(more).refusal()


def test_a_key_of_commands_is_refused_beside_a_trainer(folder):
    folder.write(folder.file.read_text() + "collect: [results/]\n")
    assert "collect belongs to a recipe with `command`" in folder.refusal()


def test_without_trainer_and_command_there_is_nothing_to_run(folder):
    lines = folder.file.read_text().splitlines(keepends=True)
    folder.write("".join(line for line in lines if not line.startswith("trainer:")))
    assert "the recipe does not say what to run" in folder.refusal()


def test_code_of_the_project_may_be_imported_by_path(said):
    assert said("env: {PYTHONPATH: 'src:lib'}\n").load().program.variables == {"PYTHONPATH": "src:lib"}


def test_the_folder_of_the_programs_files_is_no_name(said):
    taken = said()
    taken.write(taken.file.read_text().replace("name: cartpole", "name: program"))
    assert "the name 'program' is taken" in taken.refusal()


def test_in_this_python_nothing_is_portable(said):
    refusal = said("numerics: portable\n")
    refusal.write(refusal.file.read_text().replace("variant: mine", "variant: none"))
    assert "portable numerics need a pinned environment" in refusal.refusal()
