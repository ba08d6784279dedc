"""What to type where a program lacks a file in the copy of its project that it has where a person starts it.

>>> remedy("No such file or directory: '../data/a.csv'", start=started_in_examples)
'cd .. && reprokit init -- python examples/train.py'
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from reprokit.capture import git_history
from reprokit.harness.running.plan import shell_line
from reprokit.harness.running.programs.unseen_module import MISSING, file_of

_PATH = re.compile(r"[\w.@+-]*(?:/[\w.@+-]+)+/?|(?<=['\"])[\w.@+-]+\.\w+(?=['\"])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a person starts the program, and what its copy sees.

    Attributes:
        words: The command as it was typed.
        root: The folder that it was typed in.
        seen: The project's files that the copy has, by their names below ``root``.
        copies: Where the copy's folder is, as the program names it.
    """

    words: Sequence[str]
    root: Path
    seen: Sequence[str]
    copies: Sequence[str]


def remedy(said: str, *, start: Start) -> str:
    """The command that helps, or "" where none is known.

    Args:
        said: The message of the run that failed, and what it printed last.
        start: How the program is started.
    """
    top = Path(git_history.git(start.root, "rev-parse", "--show-toplevel").strip()).resolve()
    if missing := MISSING.search(said):
        return _for_module(missing[1], start, top=top)
    for name in _paths_in(said, start.copies):
        there = Path(os.path.normpath(start.root / name))
        if not there.exists() or there == start.root or not there.is_relative_to(top):
            continue
        if not there.is_relative_to(start.root):
            return _from_folder(top, start)
        below = there.relative_to(start.root).as_posix()
        if not any(one == below or one.startswith(f"{below}/") for one in start.seen):
            folder = PurePosixPath(below).parent.as_posix()
            return shell_line(["git", "add", "--force", below if folder == "." else folder])
    return ""


def _for_module(module: str, start: Start, *, top: Path) -> str:
    """A module that git does not track, that lies elsewhere in the project, or above the folder."""
    if file := file_of(module, start.root, start.seen):
        return shell_line(["git", "add", file])
    name = module.replace(".", "/")
    forms = (f"{name}.py", f"{name}/__init__.py")
    found = [one for one in start.seen if any(f"/{one}".endswith(f"/{form}") for form in forms)]
    folders = {one[: -len(form)].rstrip("/") for one in found for form in forms if one.endswith(form)}
    if any(word.startswith("PYTHONPATH=") for word in start.words):
        return ""
    if not folders:
        is_above = top != start.root and any((top / form).is_file() for form in forms)
        return _from_folder(top, start, before=("env", "PYTHONPATH=.")) if is_above else ""
    nearest = min(folders, key=lambda folder: (len(PurePosixPath(folder).parts), folder))
    words = ["env", f"PYTHONPATH={nearest or '.'}", *start.words]
    return f"reprokit init -- {shell_line(words)}"


def _from_folder(top: Path, start: Start, *, before: Sequence[str] = ()) -> str:
    """The same command, typed at the top of the repository."""
    place = start.root.relative_to(top)
    words = [(place / word).as_posix() if (start.root / word).is_file() else word for word in start.words]
    up = os.path.relpath(top, start.root)
    return f"cd {shell_line([up])} && reprokit init -- {shell_line([*before, *words])}"


def _paths_in(text: str, copies: Sequence[str]) -> Iterator[str]:
    """Paths that a text names, as the program would name them from the project's folder."""
    for match in _PATH.finditer(text):
        name = match.group()
        if not name.startswith("/"):
            yield name
            continue
        for copy in copies:
            if name.startswith(f"{Path(copy).parent}/"):
                yield os.path.relpath(name, copy)
