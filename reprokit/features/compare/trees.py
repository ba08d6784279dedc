"""Where a side's files are: the working tree, or a clean work tree of a commit, and its environments.

A side's tree is read as data. Its ``reprokit``, where it has one, is only what its trainers import. A program
that searches upwards for the repository finds the tree of its own commit: runs are made inside it, and
nothing of the working tree is above it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from reprokit import capture, runs
from reprokit.capture import git_history, git_objects, work_tree
from reprokit.core.environment_record import MachineFacts
from reprokit.core.records import OtherTree
from reprokit.errors import CannotJudgeError, ReprokitError, UsageError
from reprokit.features.compare.asked import SideAsked
from reprokit.features.compare.tree_parts import PROJECT_FILE, Files, Part, is_likely_mounted, put_files
from reprokit.harness.running.numbers import package_of
from reprokit.layout import RECIPE
from reprokit.project import Project, project_folder, settings_of
from reprokit.records import environment_json

_SHORT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class SideTree:
    """The files of a side.

    Attributes:
        root: The project's folder in its tree.
        commit: The commit that it is; None for the working tree.
        project: Its recipes and environments, with the runs and reports of the project that asks.
        host: What this machine is, and what the tree is.
        other_tree: The working tree, of which no program of a commit may open a file; None for itself.
        part: Which of its files are there.
        pointers: Its files of git-lfs whose contents this clone does not have.
    """

    root: Path
    commit: str | None
    project: Project
    host: MachineFacts
    other_tree: OtherTree | None = None
    part: Part = Part.WHOLE
    pointers: tuple[str, ...] = ()

    def with_part(self, part: Part) -> SideTree:
        """The same with as many files of its commit, or more."""
        if self.part >= part:
            return self
        there = put_files(self.root, part)
        host = capture.capture_host(self.root, only=there.paths)
        return replace(self, host=host, part=there.part, pointers=there.pointers)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ComingTrees:
    """The trees of both sides, which are being made.

    Attributes:
        made: Side → its tree, once it is there.
        in_part: The sides that may have runs already, whose trees have but the files that tell whether.
        remove: Begins to remove them, once no run needs them any more.
    """

    made: Mapping[str, Future[SideTree]]
    in_part: tuple[str, ...]
    remove: Callable[[], None]

    def tree(self, side: str) -> SideTree:
        """The tree of a side; waits for it."""
        return self.made[side].result()


def trees_begun(
    name: str,
    asked: Mapping[str, SideAsked],
    *,
    share: Sequence[str],
    only_bits: bool,
    backend: str,
    project: Project,
) -> AbstractContextManager[ComingTrees]:
    """The trees that a comparison needs.

    Args:
        name: The recipe.
        asked: Both sides.
        share: Files and folders of the working tree that clean ones get too.
        only_bits: Whether no run is made on a side that has two already.
        backend: How runs are to be made: ``auto``, ``docker`` or ``local``.
        project: That of the working tree.
    """
    revisions = {side: one.revision for side, one in asked.items()}
    may_be_known = partial(may_have_runs, name, project) if only_bits else None
    needed = Part.MOUNTED if is_likely_mounted(name, backend, project) else Part.WHOLE
    return trees_of(revisions, project, share=share, may_be_known=may_be_known, needed=needed)


@contextmanager
def trees_of(
    revisions: Mapping[str, str | None],
    project: Project,
    *,
    share: Sequence[str],
    may_be_known: Callable[[str], bool] | None,
    needed: Part = Part.WHOLE,
) -> Iterator[ComingTrees]:
    """The trees of both sides: each the working tree for None, else a work tree of the commit.

    They are made and removed while others go on; there is one where both are of one commit. Little is
    imported for this, so that git works while the rest is: its files take longest of all.

    Args:
        revisions: Side → commit, branch or tag.
        project: That of the working tree.
        share: Files and folders of the working tree that a clean one gets too, since git ignores them.
        may_be_known: Whether a commit has runs that may be used again, so that its tree need not be whole;
            None where that is not asked.
        needed: What the others have at first.

    Raises:
        UsageError: There is no such commit, or nothing of that name to share.
        CannotJudgeError: Temporary files would lie in the repository.
    """
    commits = {
        side: None if revision is None else git_history.resolve(project.root, revision)
        for side, revision in revisions.items()
    }
    stacks = {commit: ExitStack() for commit in commits.values()}
    asked = may_be_known if not share else None  # what is shared lies beside what the commit has
    in_part = {commit for commit in stacks if commit and asked and asked(commit)}
    needed = needed if not share else Part.WHOLE
    parts = {commit: Part.DIGESTED if commit in in_part else needed for commit in stacks}
    with ThreadPoolExecutor(max_workers=len(stacks)) as aside:
        made = {
            commit: aside.submit(
                stack.enter_context, _tree_of(commit, project, share=share, part=parts[commit])
            )
            for commit, stack in stacks.items()
        }

        def remove() -> None:
            wait(made.values())
            for stack in stacks.values():
                aside.submit(stack.pop_all().close)

        try:
            yield ComingTrees(
                made={side: made[commit] for side, commit in commits.items()},
                in_part=tuple(side for side, commit in commits.items() if commit in in_part),
                remove=remove,
            )
        finally:
            remove()


def may_have_runs(name: str, project: Project, commit: str) -> bool:
    """Whether two runs say that they are of a commit; whether they are of the same inputs is asked later."""
    folders = runs.list_all(project.runs_dir, recipe=name)
    sources = [environment_json.recorded(one).get("source") for one in folders]
    return [source.get("commit") for source in sources if source].count(commit) > 1


@contextmanager
def _tree_of(commit: str | None, project: Project, *, share: Sequence[str], part: Part) -> Iterator[SideTree]:
    if commit is None:
        host = capture.capture_host(project.root)
        yield SideTree(root=project.root, commit=None, project=project, host=host)
        return
    is_whole = part is Part.WHOLE
    with git_history.worktree(project.root, commit=commit, empty=not is_whole) as tree:
        _must_lie_outside(tree, project.root)
        if not is_whole:
            git_history.check_out(tree, [PROJECT_FILE])  # it says where the others are
        if is_whole:
            there = Files(part=part, pointers=git_history.put_large_files(tree))
        else:
            there = put_files(tree, part)
        for path in share:
            _share(path, project.root, tree)
        own = replace(
            project,
            root=tree,
            recipes_dir=project_folder(tree, "recipes"),
            package=package_of(tree),
        )
        # Nothing runs in a tree with so few files.
        source = {"commit": commit, "dirty": False} if there.part is Part.DIGESTED else None
        host = capture.capture_host(tree, source=source, only=there.paths)
        top = git_history.top_of(project.root)
        other = OtherTree(root=str(top), files=git_history.files_of(project.root))
        yield SideTree(
            root=tree,
            commit=commit,
            project=own,
            host=host,
            other_tree=other,
            part=there.part,
            pointers=there.pointers,
        )


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
        if (tree.root / PROJECT_FILE).is_file():
            shutil.copyfile(tree.root / PROJECT_FILE, root / PROJECT_FILE)
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
    """The submodules that differ between two sides; a run has no file of theirs."""
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
