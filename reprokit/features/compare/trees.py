"""Where a side's files are: the working tree, or a clean work tree of a commit, and its environments.

A side's tree is read as data. Its ``reprokit``, where it has one, is only what its trainers import. A program
that searches upwards for the repository finds the tree of its own commit: runs are made inside it, and
nothing of the working tree is above it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from reprokit import capture
from reprokit.capture import git_history, git_objects, work_tree
from reprokit.core.environment_record import MachineFacts
from reprokit.errors import CannotJudgeError, ReprokitError, UsageError
from reprokit.harness.running.numbers import package_of
from reprokit.layout import RECIPE
from reprokit.project import Project, project_folder, settings_of

_PROJECT_FILE = "pyproject.toml"
_SHORT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class SideTree:
    """The files of a side.

    Attributes:
        root: The project's folder in its tree.
        commit: The commit that it is; None for the working tree.
        project: Its recipes and environments, with the runs and reports of the project that asks.
        host: What this machine is, and what the tree is.
    """

    root: Path
    commit: str | None
    project: Project
    host: MachineFacts

    @property
    def runs_dir(self) -> Path:
        """Where its own runs lie, as those of a clean checkout do."""
        return self.project.runs_dir if self.commit is None else project_folder(self.root, "runs")

    def has_recipe(self, name: str) -> bool:
        """Whether the recipe is there."""
        return (self.project.recipes_dir / name / RECIPE).is_file()

    @contextmanager
    def named_by_commit(self) -> Iterator[None]:
        """Let an error name a file as git does, ``<commit>:<path>``: the work tree is removed meanwhile."""
        try:
            yield
        except ReprokitError as error:
            if self.commit is not None and error.where:
                error.where = error.where.replace(f"{self.root}/", f"{self.commit[:_SHORT]}:")
                error.args = (error.told() if error.fix is None else f"{error.told()}. Hint: {error.fix}",)
            raise


@contextmanager
def trees_of(
    revisions: Mapping[str, str | None], project: Project, *, share: Sequence[str], aside: ThreadPoolExecutor
) -> Iterator[dict[str, SideTree]]:
    """The trees of both sides, by name: each the working tree for None, else a work tree of the commit.

    They are made at the same time and removed while others go on; there is one where both are of one commit.

    Args:
        revisions: Side → commit, branch or tag.
        project: That of the working tree.
        share: Files and folders of the working tree that a clean one gets too, since git ignores them.
        aside: Makes and removes them.

    Raises:
        UsageError: There is no such commit, or nothing of that name to share.
        CannotJudgeError: Temporary files would lie in the repository.
    """
    commits = {
        side: None if revision is None else git_history.resolve(project.root, revision)
        for side, revision in revisions.items()
    }
    stacks = {commit: ExitStack() for commit in commits.values()}
    made = {
        commit: aside.submit(stack.enter_context, _tree_of(commit, project, share=share))
        for commit, stack in stacks.items()
    }
    try:
        yield {side: made[commit].result() for side, commit in commits.items()}
    finally:
        wait(made.values())
        for stack in stacks.values():
            aside.submit(stack.close)


@contextmanager
def _tree_of(commit: str | None, project: Project, *, share: Sequence[str]) -> Iterator[SideTree]:
    if commit is None:
        host = capture.capture_host(project.root)
        yield SideTree(root=project.root, commit=None, project=project, host=host)
        return
    with git_history.worktree(project.root, commit=commit) as tree:
        _must_lie_outside(tree, project.root)
        for path in share:
            _share(path, project.root, tree)
        there = replace(
            project,
            root=tree,
            recipes_dir=project_folder(tree, "recipes"),
            package=package_of(tree),
        )
        yield SideTree(root=tree, commit=commit, project=there, host=capture.capture_host(tree))


def _must_lie_outside(tree: Path, project: Path) -> None:
    """Refuse a place below the working tree: what searches upwards there finds that in the end."""
    repository = git_objects.find_repository(project)
    if repository is not None and repository.root and tree.resolve().is_relative_to(repository.root):
        raise CannotJudgeError(
            "a clean work tree would lie inside the working tree, whose files programs could find",
            where=tempfile.gettempdir(),
            fix="set TMPDIR to a folder outside the repository",
        )


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
    if any((one.added, one.removed) != untracked for one in changed):
        return False
    return commit != git_history.resolve(tree.root, "HEAD") or not _has_hidden_change(tree.root)


def _has_hidden_change(root: Path) -> bool:
    """Whether a file differs from HEAD of which git was told to pass over that: `--assume-unchanged`."""
    listed = (row.partition(" ") for row in git_history.git(root, "ls-files", "-v", "-z").split("\0"))
    told = {name for tag, _, name in listed if tag.islower() or tag == "S"}
    repository = git_objects.find_repository(root) if told else None
    if repository is None or repository.root is None:
        return False
    below = root.resolve().relative_to(repository.root)
    changed = set(work_tree.compare(repository).changed)
    return any((below / name).as_posix() in changed for name in told)


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
