"""Whether the Python of an unpinned program would import code of the working tree: real interpreters."""

from __future__ import annotations

import json
import venv

import pytest

from reprokit import recipes
from reprokit.errors import CannotJudgeError
from reprokit.features.compare.imports import imported_from
from support.command_recipe import RECIPE


@pytest.fixture
def python(tmp_path):
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    return tmp_path / "env" / "bin" / "python"


@pytest.fixture
def packages(tmp_path, python):
    return next((tmp_path / "env" / "lib").glob("python*")) / "site-packages"


@pytest.fixture
def recipe_of(tmp_path):
    def of(*command):
        file = tmp_path / "project dir" / "recipes" / "train" / "recipe.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(RECIPE.replace("[python, train.py,", f"[{', '.join(map(str, command))},"))
        return recipes.load("train", recipes_dir=file.parents[1])

    return of


def _install(packages, name, text):
    folder = packages / f"{name}-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (folder / "direct_url.json").write_text(text)


def test_an_environment_without_code_of_the_tree_is_fine_even_where_it_lies_in_the_tree(
    tmp_path, python, recipe_of
):
    assert imported_from(tmp_path / "project dir", recipe_of(python, "train.py")) == ""
    assert imported_from(tmp_path, recipe_of(python, "train.py")) == ""


def test_an_editable_package_is_found_in_a_folder_with_a_space(tmp_path, python, packages, recipe_of):
    url = (tmp_path / "project dir").as_uri()
    _install(packages, "broken", "no json")
    _install(packages, "mine", json.dumps({"url": url, "dir_info": {"editable": True}}))
    assert "mine" in imported_from(tmp_path / "project dir", recipe_of(python, "train.py"))


def test_a_folder_that_a_path_file_names_is_found(tmp_path, python, packages, recipe_of):
    recipe = recipe_of(python, "train.py")
    (tmp_path / "project dir" / "lib").mkdir()
    (packages / "mine.pth").write_text(f"{tmp_path / 'project dir' / 'lib'}\n")
    assert "lib" in imported_from(tmp_path / "project dir", recipe)


def test_a_script_runs_the_python_of_the_shell(tmp_path, python, packages, recipe_of, monkeypatch):
    monkeypatch.setenv("PATH", f"{python.parent}:/usr/bin:/bin")
    recipe = recipe_of("sh", "train.sh")
    (packages / "mine.pth").write_text(f"{tmp_path / 'project dir'}\n")
    assert "project dir" in imported_from(tmp_path / "project dir", recipe)


def test_a_python_that_gives_no_answer_is_no_proof(tmp_path, packages, python, recipe_of):
    # no sitecustomize: Debian's Python has its own
    (packages / "mine.pth").write_text("import os; os._exit(0)\n")
    with pytest.raises(CannotJudgeError, match="cannot be asked"):
        imported_from(tmp_path / "project dir", recipe_of(python, "train.py"))
