"""The command that trains, given or found, with its placeholders."""

from __future__ import annotations

import pytest

from reprokit.errors import UsageError
from reprokit.features.init.find_command import found_command, given_command
from reprokit.images.dependency_files import find_dependencies

PROGRAM = 'import argparse\np.add_argument("--seed")\np.add_argument("--out")\n'


@pytest.fixture
def root(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        ("python train.py", "python train.py --seed {seed} --out {run_dir}"),
        ("python train.py --seed 7 --lr 1", "python train.py --seed {seed} --lr 1 --out {run_dir}"),
        ("python train.py --seed=7", "python train.py --seed={seed} --out {run_dir}"),
        ("python train.py --seed {seed}", "python train.py --seed {seed} --out {run_dir}"),
        (
            "torchrun --nproc-per-node 2 train.py",
            "torchrun --nproc-per-node 2 train.py --seed {seed} --out {run_dir}",
        ),
        ("python -m train", "python -m train --seed {seed} --out {run_dir}"),
        ("echo hello", "echo hello"),
    ],
)
def test_a_given_command_gets_the_placeholders_that_its_program_takes(root, typed, made):
    assert " ".join(given_command(typed.split(), root).words) == made


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        ("python train.py", "python train.py --out {run_dir}/metrics.jsonl"),
        ("python train.py --out logs/m.csv", "python train.py --out {run_dir}/m.csv"),
        ("python train.py --out=logs/m.csv", "python train.py --out={run_dir}/m.csv"),
    ],
)
def test_an_option_for_a_file_gets_that_file_in_the_run_folder(root, typed, made):
    (root / "train.py").write_text('import argparse\np.add_argument("--out", default="metrics.jsonl")\n')
    assert " ".join(given_command(typed.split(), root).words) == made


def test_the_program_with_the_usual_name_is_found(root):
    assert found_command(root).script == "train.py"


def test_of_several_programs_none_is_taken(tmp_path):
    for name in ("train_small.py", "train_large.py"):
        (tmp_path / name).write_text(PROGRAM)
    with pytest.raises(UsageError, match=r"train_large\.py, train_small\.py"):
        found_command(tmp_path)


def test_where_nothing_trains_that_is_told(tmp_path):
    with pytest.raises(UsageError, match="no program that trains was found"):
        found_command(tmp_path)


@pytest.mark.parametrize(
    ("place", "entry"),
    [
        ("src/demo/train.py", "demo.train:main"),
        ("demo/train.py", "demo.train:main"),
        ("demo/__init__.py", "demo:main"),
        ("src/demo/train/__main__.py", "demo.train:main"),
    ],
)
@pytest.mark.parametrize("table", ["project.scripts", "tool.poetry.scripts"])
def test_the_options_of_a_console_script_are_those_of_the_file_behind_it(tmp_path, place, entry, table):
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).write_text(PROGRAM)
    (tmp_path / "pyproject.toml").write_text(f'[{table}]\ndemo-train = "{entry}"\n')
    for found in (given_command(["demo-train"], tmp_path), found_command(tmp_path)):
        assert found.words == ("demo-train", "--seed", "{seed}", "--out", "{run_dir}")
        assert found.script == place


@pytest.mark.parametrize(
    "text", ["[project]\nscripts = 3\n", '[project.scripts]\ntrain = "gone:main"\n', "no ["]
)
def test_a_console_script_whose_file_is_not_there_has_no_options(tmp_path, text):
    (tmp_path / "pyproject.toml").write_text(text)
    assert given_command(["train"], tmp_path).words == ("train",)


def test_a_word_that_is_called_like_a_script_is_no_script(root):
    (root / "pyproject.toml").write_text('[project.scripts]\nfast = "train:main"\n')
    assert given_command(["echo", "fast"], root).words == ("echo", "fast")


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        ("uv run train.py", "python train.py"),
        ("uv run --frozen -- python train.py", "python train.py"),
        ("uv run --script train.py", "python train.py"),
        ("uv run --with six train.py", "uv run --with six train.py"),
        ("uv run", "uv run"),
    ],
)
def test_uv_run_is_left_out_where_the_packages_can_be_locked(root, typed, made):
    (root / "requirements.txt").write_text("six\n")
    found = given_command(typed.split(), root)
    assert " ".join(found.words).startswith(made)
    assert " ".join(found.typed) == typed


def test_uv_run_stays_where_nothing_names_the_packages(root):
    assert given_command(["uv", "run", "train.py"], root).words[:2] == ("uv", "run")


def test_a_script_that_names_its_packages_itself_is_locked_from_itself(root):
    (root / "requirements.txt").write_text("six\n")
    assert find_dependencies(root, "train.py") == root / "requirements.txt"
    (root / "train.py").write_text('# /// script\n# dependencies = ["six"]\n# ///\n' + PROGRAM)
    assert find_dependencies(root, "train.py") == root / "train.py"


def test_a_lock_with_a_name_comes_before_requirements_and_pixi_before_conda(root):
    (root / "environment.yml").write_text("dependencies: []\n")
    (root / "pixi.toml").write_text("")
    assert find_dependencies(root) == root / "pixi.toml"
    (root / "requirements-dev.txt").write_text("six\n")
    (root / "pylock.train.toml").write_text("")
    assert find_dependencies(root) == root / "pylock.train.toml"
