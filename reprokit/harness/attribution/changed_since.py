"""Which recipes stand on something else than at a commit: all others can be left out of the gate.

A recipe is left out only where its file, its goldens and all that its numbers stand on (``numbers``) have the
digests that they had at that commit, and its environment is pinned. What cannot be decided is judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reprokit.capture import git_history
from reprokit.core.records import digest
from reprokit.core.verdicts.comparability import Objection
from reprokit.errors import ReprokitError
from reprokit.harness.attribution import worktree_run
from reprokit.harness.running.numbers import tree_digest
from reprokit.project import Project, project_folder, settings_of
from reprokit.recipes import NO_VARIANT
from reprokit.workspace import sha256_of_path


def unchanged_since(commit: str, names: Sequence[str], *, project: Project) -> dict[str, str]:
    """Recipes that need no judging, each with the reason in a few words.

    Args:
        commit: A commit, branch or tag of the project's repository.
        names: Recipes to look at.
        project: As it is now, with what is not committed.

    Raises:
        UsageError: There is no such commit.
    """
    full = git_history.resolve(project.root, commit)
    with git_history.worktree(project.root, commit=full) as tree:
        then = replace(
            project,
            root=tree,
            recipes_dir=project_folder(tree, "recipes"),
            golden_dir=_golden_dir(project, tree),
        )
        if settings_of(tree).extensions != settings_of(project.root).extensions:
            return {}  # code that reads logs, or makes runs, is another
        unchanged = [name for name in names if _stands_on(name, project) == _stands_on(name, then) != ""]
    return dict.fromkeys(unchanged, f"nothing that it depends on has changed since {full[:12]}")


def _stands_on(name: str, project: Project) -> str:
    """Digest of all that a recipe's verdict here could follow from; empty where that is not known."""
    recipe = worktree_run.load(project.root, name, overrides=())
    goldens = project.golden_dir / name
    if isinstance(recipe, Objection) or recipe.variant == NO_VARIANT or not goldens.is_dir():
        return ""
    try:
        return digest(
            [sha256_of_path(recipe.path), sha256_of_path(goldens), tree_digest(project.root, recipe)]
        )
    except ReprokitError:
        return ""


def _golden_dir(project: Project, tree: Path) -> Path:
    """The folder of goldens in another tree; one that is not there where they lie outside the project."""
    if not project.golden_dir.is_relative_to(project.root):
        return tree / "no-goldens"
    return tree / project.golden_dir.relative_to(project.root)
