"""Which parts a trainer imports, and that an edit to one of these is seen, and to no other."""

import pytest

from reprokit.errors import RecipeError
from reprokit.recipes.imports import imported_parts

PARTS = {
    "adam.py": "from recipes.parts.moments import Moments\n",
    "moments.py": "import numpy\n",
    "tree.py": "",
    "buffers.py": "from .tree import Tree\nfrom . import moments as seen\n",
    "rooms.py": 'ENTRY = "recipes.parts.rooms:Room"\n',
    "notes.py": '"""Unlike recipes.parts.tree, this one draws nothing."""\n',
    "worlds/__init__.py": "from recipes.parts.worlds.maze import Maze\n",
    "worlds/maze.py": "",
    "worlds/sea.py": "from ..tree import Tree\n",
    "loose/one.py": "",
    "loose/other.py": "",
}
WORLDS = ["worlds/__init__.py", "worlds/maze.py"]
ALL = sorted(PARTS)


@pytest.fixture
def study(tmp_path):
    for name, text in PARTS.items():
        path = tmp_path / "recipes" / "parts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "recipes"


def names(source, study):
    found = imported_parts(source.encode(), where="t.py", recipes_dir=study)
    return [part.name for part in found]


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ("import torch\nfrom reprokit.runtime.run import Run\n", []),
        ("from recipes.parts.moments import Moments", ["moments.py"]),
        ("import recipes.parts.moments as m", ["moments.py"]),
        ("from recipes.parts import moments, tree", ["moments.py", "tree.py"]),
        ("from recipes.parts.adam import Adam", ["adam.py", "moments.py"]),
        ("from recipes.parts.buffers import Buffer", ["buffers.py", "moments.py", "tree.py"]),
        ("def late():\n    from recipes.parts.tree import Tree", ["tree.py"]),
        ("try:\n    import recipes.parts.tree\nexcept ImportError:\n    pass", ["tree.py"]),
        ("from recipes.parts.worlds.sea import Sea", ["tree.py", *WORLDS, "worlds/sea.py"]),
        ("from recipes.parts.worlds import Maze", WORLDS),
        ("import recipes.parts.worlds", ["tree.py", *WORLDS, "worlds/sea.py"]),
        ("from recipes.parts.worlds import *", ["tree.py", *WORLDS, "worlds/sea.py"]),
        ("from recipes.parts.loose.one import x", ["loose/one.py"]),
        ("import recipes.parts.loose", ["loose/one.py", "loose/other.py"]),
        ("from recipes.parts.rooms import Room", ["rooms.py"]),
        ('make("recipes.parts.rooms:Room")', ["rooms.py"]),
        ("from recipes.parts.notes import x", ["notes.py"]),
        ("from recipes.trainers import another", []),
        ("class Training:\n    compile: str | None = None\n    other = settings.compile", []),
        ("import my_recipes.parts.tree, recipes_parts", []),
        ('x = "my.recipes.parts.tree and recipes.parts_of"', []),
    ],
)
def test_exactly_what_is_imported_counts_whoever_imports_it(study, source, needed):
    assert names(source, study) == needed


@pytest.mark.parametrize(
    "source",
    [
        "from recipes.parts import *",
        "from recipes import *",
        "from recipes import parts",
        "import recipes",
        "import recipes.parts",
        'import importlib\nimportlib.import_module("recipes.parts." + kind)',
        "from importlib import import_module as load\nload(name)",
        "import importlib.util",
        "import runpy",
        "x = __import__(name)",
        "exec(text)",
        'module = load(f"recipes.parts.{kind}")',
        'module = load("recipes.parts.sampler_" + kind)',
    ],
)
def test_where_the_source_does_not_say_which_part_all_of_them_count(study, source):
    assert names(source, study) == ALL


@pytest.mark.parametrize("source", ["from importlib.metadata import files", "model.eval()", "re.compile(x)"])
def test_what_imports_no_module_by_its_name_does_not(study, source):
    assert names(source, study) == []


def test_a_part_that_imports_by_name_makes_all_of_them_count_for_its_trainer_only(study):
    (study / "parts" / "tree.py").write_text("import importlib\n")
    assert names("from recipes.parts.buffers import Buffer", study) == ALL
    assert names("from recipes.parts.adam import Adam", study) == ["adam.py", "moments.py"]


def test_parts_that_import_each_other_are_read_once(study):
    (study / "parts" / "moments.py").write_text("from recipes.parts import adam\n")
    assert names("from recipes.parts.adam import Adam", study) == ["adam.py", "moments.py"]


def refusal(source, study):
    with pytest.raises(RecipeError) as caught:
        names(source, study)
    return str(caught.value)


def test_a_part_that_is_not_there_is_refused_with_its_line_and_the_near_miss(study):
    told = refusal("import torch\nfrom recipes.parts.momets import Moments", study)
    assert told.startswith("t.py:2: there is no part 'momets'")
    assert "did you mean 'moments'?" in told


def test_so_is_a_part_that_another_part_names(study):
    (study / "parts" / "tree.py").write_text("\nfrom recipes.parts.gone import x\n")
    assert "parts/tree.py:2: there is no part 'gone'" in refusal("import recipes.parts.tree", study)


def test_a_part_that_is_not_python_is_refused_with_its_line(study):
    (study / "parts" / "tree.py").write_text("x = 1\ndef\n")
    assert "parts/tree.py:2: not Python" in refusal("import recipes.parts.tree", study)


def test_a_part_that_leads_out_of_the_recipes_is_refused(study, tmp_path):
    (study / "parts" / "tree.py").rename(tmp_path / "tree.py")
    (study / "parts" / "tree.py").symlink_to(tmp_path / "tree.py")
    assert "leads out of the recipes folder" in refusal("import recipes.parts.tree", study)


def test_without_a_folder_of_parts_nothing_is_needed_and_none_can_be_imported(tmp_path):
    assert names("import importlib", tmp_path) == []
    assert "there is no part 'tree'" in refusal("import recipes.parts.tree", tmp_path)


# --- In a recipe ---------------------------------------------------------------------------------


@pytest.fixture
def with_parts(folder, study):
    assert folder.path == study
    folder.trainer.write_text("from recipes.parts.adam import Adam\n" + folder.trainer.read_text())
    return folder


@pytest.mark.parametrize("name", ["adam.py", "moments.py"])
def test_an_edit_to_an_imported_part_is_another_recipe_even_where_only_a_part_imports_it(with_parts, name):
    before = with_parts.load()
    path = with_parts.path / "parts" / name
    path.write_text(path.read_text() + "x = 1\n")
    assert with_parts.load().digest != before.digest


def test_an_edit_to_a_part_that_is_not_imported_is_none(with_parts):
    before = with_parts.load()
    (with_parts.path / "parts" / "tree.py").write_text("raise RuntimeError\n")
    (with_parts.path / "parts" / "new.py").write_text("")
    assert with_parts.load() == before


def test_the_same_text_under_another_name_is_another_part(with_parts):
    before = with_parts.load()
    (with_parts.path / "parts" / "moments.py").rename(with_parts.path / "parts" / "means.py")
    (with_parts.path / "parts" / "adam.py").write_text("from recipes.parts.means import Moments\n")
    assert with_parts.load().digest != before.digest


def test_a_trainer_without_parts_has_the_digest_that_it_had_before_there_were_any(folder):
    alone = folder.load()
    (folder.path / "parts").mkdir()
    (folder.path / "parts" / "tree.py").write_text("")
    assert (folder.load().parts, folder.load().digest) == ((), alone.digest)


def test_one_mistake_in_two_files_is_told_of_each(study):
    for where in ("one.py", "other.py"):
        with pytest.raises(RecipeError, match=f"^{where}:1: "):
            imported_parts(b"def (\n", where=where, recipes_dir=study)
