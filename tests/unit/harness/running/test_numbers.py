"""What a recipe's numbers stand on: an edit to any of it is seen, and to nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit import golden, recipes
from reprokit.errors import WorkspaceError
from reprokit.harness import Project
from reprokit.harness.attribution import worktree_run
from reprokit.harness.running import numbers
from reprokit.harness.running.numbers import (
    code_digests,
    mounted_digest,
    paths_of,
    tree_digest,
    tree_paths_of,
)

ROOT = Path(__file__).resolve().parents[4]
#: A commit whose package was laid out otherwise: ``runtime/hook``, ``harness/plan.py``, no parts.
OLD = "6ac78aa172d5c802482a2c9df9b3ff874be412fc"


@pytest.fixture
def tree(tmp_path) -> Path:
    """A whole project with a package of its own, as it is today."""
    for name in ("recipes", "reprokit", "images"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def loaded(tree: Path, name: str) -> recipes.Recipe:
    return recipes.load(name, recipes_dir=tree / "recipes")


def edit(path: Path) -> None:
    path.write_text(path.read_text() + "\n# edited\n")


def seen(tree: Path, name: str, *edited: str) -> list[str]:
    """Which digests of a recipe's run change with an edit of some files."""
    before = code_digests(loaded(tree, name), package=tree / "reprokit")
    for file in edited:
        edit(tree / file)
    after = code_digests(loaded(tree, name), package=tree / "reprokit")
    return [one for one in after if before.get(one) != after[one]]


@pytest.mark.parametrize(
    ("name", "file", "named"),
    [
        ("pinpad", "recipes/trainers/dqn.py", ["recipe", "trainer"]),
        ("pinpad", "recipes/parts/replay_sampling.py", ["recipe", "parts"]),
        ("pinpad", "recipes/parts/sum_tree.py", ["recipe", "parts"]),  # only replay_sampling imports it
        ("cartpole_tuned", "recipes/parts/moments.py", ["recipe", "parts"]),
        ("cartpole_baseline", "recipes/parts/playing.py", ["recipe", "parts"]),
        ("cartpole_baseline", "recipes/parts/evaluation.py", ["recipe", "parts"]),
        ("curriculum", "recipes/parts/tasks.py", ["recipe", "parts"]),
        ("pinpad", "reprokit/runtime/seeding.py", ["runtime"]),
        ("cartpole_baseline", "reprokit/core/numerics.py", ["runtime"]),
    ],
)
def test_an_edit_to_what_can_change_the_numbers_is_seen_by_its_name(tree, name, file, named):
    assert seen(tree, name, file) == named


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("pinpad", "recipes/parts/moments.py"),
        ("cartpole_tuned", "recipes/parts/sum_tree.py"),
        ("cartpole_baseline", "recipes/parts/moments.py"),
        ("cartpole_baseline", "recipes/trainers/dqn.py"),
        ("pinpad", "reprokit/probes/rounding_probe.py"),
        ("pinpad", "reprokit/probes/profiling.py"),
        ("pinpad", "reprokit/instrumentation/sitecustomize.py"),
        ("pinpad", "reprokit/instrumentation/reprokit_hook/draws.py"),
        ("pinpad", "reprokit/cli/commands/run.py"),
        ("pinpad", "reprokit/execution/local.py"),
    ],
)
def test_an_edit_to_anything_else_is_not_and_all_of_the_package_is_recorded_all_the_same(tree, name, file):
    before = mounted_digest(tree / "reprokit")
    assert seen(tree, name, file) == []
    assert (mounted_digest(tree / "reprokit") != before) == file.startswith("reprokit/")


@pytest.mark.parametrize("file", ["runtime", "core/numerics.py"])
def test_what_was_moved_away_is_an_error_and_never_equal_to_nothing(tree, file):
    (tree / "reprokit" / file).rename(tree / "reprokit" / "elsewhere")
    with pytest.raises(WorkspaceError, match="there is nothing to digest"):
        code_digests(loaded(tree, "pinpad"), package=tree / "reprokit")


# --- What a run has loaded -----------------------------------------------------------------------

#: What is loaded next to a training and is in no digest of its numbers: it reads, and writes records.
_READS_ONLY = (
    "reprokit.capture",
    "reprokit.core.records",
    "reprokit.errors",
    "reprokit.file_tree",
    "reprokit.layout",
    "reprokit.regular_file",
    "reprokit.redaction",
)


def test_beside_a_training_nothing_of_the_package_is_loaded_but_what_counts_and_what_only_reads():
    pytest.importorskip("torch")
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import json, sys; import reprokit.runtime.launch; print(json.dumps(sorted(sys.modules)))",
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    here = [name for name in json.loads(told.stdout) if name.startswith("reprokit.")]
    known = ("reprokit.runtime", "reprokit.core.numerics", *_READS_ONLY)
    assert "reprokit.runtime.run" in here
    assert [name for name in here if name != "reprokit.core" and not name.startswith(known)] == []


# --- Another tree --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "file",
    [
        "recipes/pinpad/recipe.yaml",
        "recipes/trainers/dqn.py",
        "recipes/parts/sum_tree.py",
        "images/cpu/requirements.lock",
        "images/lock.toml",
        "images/Dockerfile",
        "images/base/x86_64.lock",
        "reprokit/runtime/seeding.py",
        "reprokit/core/numerics.py",
        "reprokit/execution/local.py",
        "reprokit/harness/running/plan.py",
    ],
)
def test_trees_that_differ_in_what_a_run_stands_on_are_told_apart(tree, file):
    if file.endswith("recipe.yaml"):
        path = tree / file
        before = tree_digest(tree, loaded(tree, "pinpad"))
        path.write_text(path.read_text().replace("total_timesteps: ", "total_timesteps: 1"))
    else:
        before = tree_digest(tree, loaded(tree, "pinpad"))
        edit(tree / file)
    assert tree_digest(tree, loaded(tree, "pinpad")) != before


@pytest.mark.parametrize("file", ["recipes/parts/moments.py", "images/cuda/requirements.lock"])
def test_trees_that_differ_elsewhere_are_not(tree, file):
    before = tree_digest(tree, loaded(tree, "pinpad"))
    edit(tree / file)
    (tree / "README.md").write_text("another sentence\n")
    assert tree_digest(tree, loaded(tree, "pinpad")) == before


def test_a_file_that_moves_within_the_package_makes_another_tree_and_so_does_an_edit_in_its_new_place(tree):
    found = [tree_digest(tree, loaded(tree, "pinpad"))]
    moved = tree / "reprokit" / "starting"
    moved.mkdir()
    (tree / "reprokit" / "harness" / "running" / "plan.py").rename(moved / "plan.py")
    found.append(tree_digest(tree, loaded(tree, "pinpad")))
    edit(moved / "plan.py")
    found.append(tree_digest(tree, loaded(tree, "pinpad")))
    assert len(set(found)) == 3


@pytest.mark.parametrize("file", ["images/cpu", "images/lock.toml"])
def test_a_tree_that_no_environment_can_be_made_from_is_an_error(tree, file):
    recipe = loaded(tree, "pinpad")
    (tree / file).rename(tree / "elsewhere")
    with pytest.raises(WorkspaceError, match="there is nothing to digest"):
        tree_digest(tree, recipe)


def test_a_tree_without_a_package_of_its_own_is_run_by_this_one(tree):
    shutil.rmtree(tree / "reprokit")
    assert numbers.package_of(tree) == numbers.PACKAGE
    assert tree_digest(tree, loaded(tree, "pinpad"))


def test_the_paths_for_git_are_the_files_that_are_digested(tree):
    recipe, project = loaded(tree, "pinpad"), Project.around(tree)
    parts = {f"recipes/parts/{part.name}" for part in recipe.parts}
    common = {"recipes/pinpad", "recipes/trainers/dqn.py", *parts, "images/cpu", "images/lock.toml"}
    common |= {"images/Dockerfile", "images/base"}
    assert set(paths_of(recipe, project)) == common | {"reprokit/runtime", "reprokit/core/numerics.py"}
    assert set(tree_paths_of(recipe, project)) == common | {"reprokit"}
    assert "recipes/parts/sum_tree.py" in parts
    assert "recipes/parts/moments.py" not in parts


# --- A tree from before there were parts ---------------------------------------------------------


@pytest.fixture
def old_tree(tmp_path) -> Path:
    shown = subprocess.run(
        ["git", "archive", OLD, "recipes", "reprokit", "images", "golden/pinpad"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if shown.returncode:
        pytest.skip(f"this clone has no commit {OLD}: {shown.stderr.decode().strip()}")
    (tmp_path / "old").mkdir()
    subprocess.run(["tar", "--extract"], input=shown.stdout, cwd=tmp_path / "old", check=True)
    return tmp_path / "old"


def test_a_recipe_of_an_old_tree_has_the_digest_that_its_golden_was_blessed_with(old_tree):
    recipe = worktree_run.load(old_tree, "pinpad", overrides=())
    assert isinstance(recipe, recipes.Recipe)
    blessed = golden.load(old_tree / "golden" / "pinpad" / "cpu-x86_64" / "seed-42").provenance
    assert (recipe.parts, recipe.digest) == ((), blessed.digests["recipe"])


def test_an_old_tree_is_run_by_its_own_package(old_tree):
    assert numbers.package_of(old_tree) == old_tree / "reprokit"


@pytest.mark.parametrize(
    "file",
    [
        "reprokit/runtime/flat_adam.py",
        "reprokit/runtime/seeding.py",
        "reprokit/harness/plan.py",
        "reprokit/harness/realise.py",
        "reprokit/execution/local.py",
        "recipes/trainers/dqn.py",
    ],
)
def test_two_old_trees_are_told_apart_wherever_their_files_lie(old_tree, file):
    before = tree_digest(old_tree, loaded(old_tree, "pinpad"))
    assert tree_digest(old_tree, loaded(old_tree, "pinpad")) == before
    edit(old_tree / file)
    assert tree_digest(old_tree, loaded(old_tree, "pinpad")) != before
