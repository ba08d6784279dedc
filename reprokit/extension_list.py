"""Which extensions a project names, and where from: its ``pyproject.toml``, or that of a commit.

In a gate the list is that of the commit which the owner has blessed: what is judged cannot name code that
judges it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reprokit import extensions
from reprokit.errors import UsageError
from reprokit.project import PYPROJECT, Project, settings_in, settings_of


def load_named(start: Path, *, commit: str = "", warn: Callable[[str], None]) -> None:
    """Load what the project of a folder names.

    Args:
        start: A folder of the project.
        commit: Whose list counts; the list that lies there where it is empty.
        warn: Told of each extension that is named, installed, and was not loaded.

    Raises:
        UsageError: There is no such commit, though the working tree names extensions; or the list cannot be
            met.
    """
    root = Project.around(start).root
    listed = _listed_at(root, commit) if commit else settings_of(root).extensions
    extensions.load(listed, listed_by=commit)
    for one in extensions.broken():
        warn(f"the extension {one.named.label} was not loaded: {one.why}")


def _listed_at(root: Path, commit: str) -> tuple[str, ...]:
    """The list of a commit; none where it has no such file."""
    from reprokit.capture.git_history import file_at, resolve, run_git  # noqa: PLC0415 - most need no git

    try:
        resolve(root, commit)
    except UsageError:
        if settings_of(root).extensions:
            raise
        return ()  # a shallow clone may lack it: without a list nothing is loaded, which is safe
    there = run_git(root, "ls-tree", "--name-only", commit, "--", PYPROJECT)
    if there.returncode:
        raise UsageError("the commit cannot be read", where=commit)
    if not there.stdout.strip():
        return ()
    text = file_at(root, commit, PYPROJECT).decode("utf-8", "replace")
    return settings_in(text, where=f"{commit}:{PYPROJECT}").extensions
