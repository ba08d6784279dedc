"""Which files of its commit the tree of a side gets."""

from __future__ import annotations

import pytest

from reprokit.capture import git_history
from reprokit.features.compare import tree_parts
from reprokit.features.compare.tree_parts import Part, is_likely_mounted, put_files
from reprokit.project import Project
from support.command_recipe import Repository

TRAINER = "schema: 1\nname: train\ntrainer: classifier\n"


@pytest.fixture
def repository(tmp_path):
    found = Repository(tmp_path)
    found.git("init", "--quiet", "--initial-branch", "main")
    (tmp_path / "reprokit").mkdir()
    (tmp_path / "reprokit" / "__main__.py").write_text("")
    found.write(
        **{
            "recipes/train/recipe.yaml": TRAINER,
            "images/cpu/lock": "numpy",
            "reprokit/probe.py": "",
            "docs/note.md": "a note",
        }
    )
    return found


def there(root) -> set[str]:
    found = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    return found - {".git"}


def test_a_container_of_a_trainer_needs_its_package_recipe_and_environment(repository):
    with git_history.worktree(repository.root, commit="HEAD", empty=True) as tree:
        assert put_files(tree, Part.DIGESTED).part is Part.DIGESTED
        assert "reprokit/probe.py" not in there(tree)
        assert put_files(tree, Part.MOUNTED).part is Part.MOUNTED
        assert "reprokit/probe.py" in there(tree)
        assert not any(name.startswith("docs/") for name in there(tree))
        assert put_files(tree, Part.WHOLE).paths == ()
        assert "docs/note.md" in there(tree)


def test_a_link_out_of_what_it_needs_brings_every_file(repository):
    (repository.root / "recipes" / "train" / "data.txt").symlink_to("../../docs/note.md")
    repository.commit()
    with git_history.worktree(repository.root, commit="HEAD", empty=True) as tree:
        assert put_files(tree, Part.MOUNTED).part is Part.WHOLE
        assert (tree / "recipes" / "train" / "data.txt").read_text() == "a note"


@pytest.mark.parametrize(
    ("backend", "recipe", "expected"),
    [
        ("docker", TRAINER, True),
        ("docker", "name: train\ncommand: [python, trainer: x]\n", False),
        ("local", TRAINER, False),
    ],
)
def test_before_the_trees_are_there_only_a_trainer_in_a_container_gets_a_part(
    repository, backend, recipe, expected
):
    (repository.root / "recipes" / "train" / "recipe.yaml").write_text(recipe)
    assert is_likely_mounted("train", backend, Project.around(repository.root)) is expected
    assert not tree_parts.is_likely_mounted("absent", backend, Project.around(repository.root))
