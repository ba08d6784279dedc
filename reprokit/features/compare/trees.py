"""Where a side's files are: the working tree, or a clean work tree of a commit, and its environments.

A side's tree is read as data. Its ``reprokit``, where it has one, is only what its trainers import.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from reprokit.capture import git_history
from reprokit.errors import UsageError
from reprokit.harness.running.numbers import package_of
from reprokit.layout import RECIPE
from reprokit.project import Project, project_folder, settings_of

_PROJECT_FILE = "pyproject.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideTree:
    """The files of a side.

    Attributes:
        root: The project's folder in its tree.
        commit: The commit that it is; None for the working tree.
        project: Its recipes and environments, with the runs and reports of the project that asks.
    """

    root: Path
    commit: str | None
    project: Project

    def has_recipe(self, name: str) -> bool:
        """Whether the recipe is there."""
        return (self.project.recipes_dir / name / RECIPE).is_file()


@contextmanager
def tree_of(revision: str | None, project: Project, *, share: Sequence[str]) -> Iterator[SideTree]:
    """The tree of a commit, or the working tree for None.

    Args:
        revision: A commit, branch or tag.
        project: That of the working tree.
        share: Files and folders of the working tree that a clean one gets too, since git ignores them.

    Raises:
        UsageError: There is no such commit, or nothing of that name to share.
    """
    if revision is None:
        yield SideTree(root=project.root, commit=None, project=project)
        return
    commit = git_history.resolve(project.root, revision)
    with git_history.worktree(project.root, commit=commit) as tree:
        for path in share:
            _share(path, project.root, tree)
        there = replace(
            project,
            root=tree,
            recipes_dir=project_folder(tree, "recipes"),
            package=package_of(tree),
        )
        yield SideTree(root=tree, commit=commit, project=there)


@contextmanager
def environments_of(tree: SideTree) -> Iterator[SideTree]:
    """The same with a copy of its environments, whose locks may be changed; its code stays where it is."""
    with tempfile.TemporaryDirectory(prefix="reprokit-side-") as name:
        root = Path(name)
        if (tree.root / _PROJECT_FILE).is_file():
            shutil.copyfile(tree.root / _PROJECT_FILE, root / _PROJECT_FILE)
        images = project_folder(tree.root, "images")
        if images.is_dir():
            shutil.copytree(images, root / settings_of(tree.root).images)
        yield replace(tree, project=replace(tree.project, root=root))


def is_same_tree(first: SideTree, other: SideTree) -> bool:
    """Whether two sides have the same files: one commit, or a commit and a working tree without changes."""
    if first.commit == other.commit:
        return True
    commit, tree = (first.commit, other) if other.commit is None else (other.commit, first)
    if tree.commit is not None or commit is None:
        return False
    changed = git_history.changes_since(tree.root, commit, ["."])
    untracked = (None, 0)  # git does not know the file, and no program sees it
    return all((one.added, one.removed) == untracked for one in changed)


def changed_submodules(first: SideTree, other: SideTree) -> tuple[str, ...]:
    """The submodules of two sides that are not the same, of which a run has no file."""
    if first.commit == other.commit:
        return ()
    if first.commit is None or other.commit is None:
        commit, tree = (first.commit, other) if other.commit is None else (other.commit, first)
        return git_history.changed_submodules(tree.root, str(commit))
    return git_history.changed_submodules(first.root, first.commit, until=other.commit)


def _share(path: str, source: Path, tree: Path) -> None:
    """Put a file or folder of the working tree into a clean one: as a second name of it where that can be."""
    name = PurePosixPath(path)
    if name.is_absolute() or ".." in name.parts or not (source / name).exists():
        raise UsageError(f"there is no {path} to share", where=str(source), expected="a path in the project")
    target = tree / name
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if (source / name).is_dir():
        shutil.copytree(source / name, target, copy_function=_link_or_copy)
    else:
        _link_or_copy(str(source / name), str(target))


def _link_or_copy(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    return target
