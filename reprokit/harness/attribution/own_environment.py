"""An environment of an older tree's own, where a recipe pins none and this Python lacks a package.

The tree's files say what it depends on. It is locked in the tree, and the recipe there then names it.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from reprokit.capture import git_history
from reprokit.errors import ReprokitError
from reprokit.feature import offered
from reprokit.harness.running.programs.unseen_module import MISSING
from reprokit.images.dependency_files import find_dependencies
from reprokit.project import project_folder
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.session import Progress

NAME = "of-its-own-files"
_UNPINNED = re.compile(r"^variant:[ \t]*none[ \t]*(?:#.*)?$", re.MULTILINE)


def lock_own(root: Path, recipe: Recipe, *, why: str, progress: Progress) -> str:
    """Lock the environment that a tree's files ask for, where a run ended because a package was missing.

    Args:
        root: The tree.
        recipe: Its recipe.
        why: Why its run in this Python did not finish.
        progress: Told of what is done.

    Returns:
        What was done, as a sentence; "" where nothing was: the recipe pins an environment, no package is
        missing, or nothing can be locked.
    """
    missing, lock = MISSING.search(why), offered("lock_from")
    if recipe.variant != NO_VARIANT or recipe.program is None or missing is None or lock is None:
        return ""
    command = recipe.program.command
    source = find_dependencies(root, next((word for word in command if word.endswith(".py")), ""))
    if source is None:
        return ""
    try:
        lock(
            NAME,
            source,
            project=root,
            command=command,
            started_in=root,
            python=None,
            fetch=False,
            on_progress=progress.note,
        )
    except ReprokitError as error:
        progress.note(f"no environment can be made of {source.name} in {root}: {error.told()}")
        return ""
    name_own(recipe.file)
    return f"in an environment of its own {source.name}: this Python has no {missing[1].partition('.')[0]}"


def name_own(recipe: Path) -> None:
    """Have a recipe name the environment of its tree's own files in place of none."""
    recipe.write_text(_UNPINNED.sub(f"variant: {NAME}", recipe.read_text("utf-8")), encoding="utf-8")


def removed(root: Path, recipe: Recipe) -> None:
    """Leave a tree as its commit is: the recipe, and no such environment."""
    git_history.git(root, "checkout", "--quiet", "--", str(recipe.file.relative_to(root)))
    shutil.rmtree(project_folder(root, "images") / NAME, ignore_errors=True)
