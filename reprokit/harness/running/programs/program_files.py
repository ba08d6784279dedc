"""The files that an unmodified program sees: what git tracks in the project, as it lies there now.

A run gets a copy of them and nothing else of the repository, so what was digested is what was seen. Left
out is what belongs to reprokit and changes for other reasons: goldens, runs, reports, docs, other recipes and
the locks of environments, which have a digest of their own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from reprokit import file_tree
from reprokit.capture import git_objects
from reprokit.core.records import digest, digest_bytes
from reprokit.errors import RecipeError, UsageError
from reprokit.file_tree import Kind
from reprokit.layout import BUNDLE, LOCK, PROGRAM, RECIPE, RECORD, SOURCE
from reprokit.project import Settings, settings_of

if TYPE_CHECKING:
    from reprokit.recipes import Recipe

_MAX_BYTES = 512 << 20
_SUBMODULE = b"160000"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramFile:
    """One file: its name from the project's folder, its content, whether it can be executed."""

    name: str
    content: bytes
    executable: bool


def program_files(recipe: Recipe, root: Path) -> tuple[ProgramFile, ...]:
    """Every file that the recipe's program sees, in the order of names.

    Args:
        recipe: A recipe of a command.
        root: The project's folder.

    Raises:
        UsageError: The folder is in no git repository, which alone says what belongs to the program.
        RecipeError: Nothing is left, it is more than 512 MiB, or a link leads out of the folder.
    """
    program = recipe.program
    patterns = program.sees if program else None
    found, size = [], 0
    kept = _kept_with_run(recipe)
    root = kept or root
    told = settings_of(root)
    for name in files_below(root) if kept else _in_index(root):
        if not kept and not _is_seen(name, patterns, recipe=recipe, root=root, told=told):
            continue
        file = _read(root / name, name, root=root, recipe=recipe)
        if file is None:
            continue
        size += len(file.content)
        if size > _MAX_BYTES:
            raise RecipeError(
                f"the program sees more than {_MAX_BYTES >> 20} MiB of tracked files",
                where=recipe.where("sees"),
                fix="name what it needs (`sees: [src/, train.py]`), and large files under `data`",
            )
        found.append(file)
    if not found:
        raise RecipeError(
            "the program would see no file",
            where=recipe.where("sees"),
            fix="`git add` its files" if patterns is None else "correct the patterns",
        )
    return tuple(found)


def may_see(recipe: Recipe, name: str) -> bool:
    """Whether the recipe's patterns leave a folder, or something in it, to its program."""
    patterns = recipe.program.sees if recipe.program else None
    return patterns is None or any(_fits(name, one) or one.startswith(f"{name}/") for one in patterns)


def idle_patterns(recipe: Recipe, root: Path) -> tuple[str, ...]:
    """The patterns under ``sees`` that fit no tracked file, so that the program finds none of them.

    Raises:
        UsageError: The folder is in no git repository, or nothing in it is tracked.
    """
    patterns = (recipe.program.sees if recipe.program else None) or ()
    names = tracked_files(root) if patterns else ()
    return tuple(one for one in patterns if not any(_fits(name, one) for name in names))


def tracked_files(root: Path) -> tuple[str, ...]:
    """Names of the plain files below a folder that git tracks and that are there.

    Raises:
        UsageError: The folder is in no git repository, or nothing in it is tracked.
    """
    found = tuple(name for name in _in_index(root) if (root / name).is_file())
    if not found:
        raise UsageError("git tracks no file here", where=str(root), fix="`git add` the program's files")
    return found


def submodules(root: Path) -> tuple[str, ...]:
    """Folders of submodules below a folder; no program sees their files."""
    return tuple(_in_index(root, submodules=True))


def digest_of_files(files: tuple[ProgramFile, ...]) -> str:
    """One digest of names, contents and whether each can be executed."""
    return digest([digests_by_name(files), [file.name for file in files if file.executable]])


def digests_by_name(files: tuple[ProgramFile, ...]) -> dict[str, str]:
    """Name → SHA-256 of the content."""
    return {file.name: digest_bytes(file.content) for file in files}


def files_below(folder: Path) -> Iterator[str]:
    """Names of plain files below a folder, in order; no link is followed."""
    yield from sorted(entry.name for entry in file_tree.walk(folder) if entry.kind is Kind.FILE)


def _kept_with_run(recipe: Recipe) -> Path | None:
    """Where a run or a bundle keeps its program's files, for a recipe that was read from one; else None."""
    folder = recipe.project_dir
    kept = recipe.file.parents[1].name == SOURCE and any(
        (folder / mark).is_file() for mark in (RECORD, BUNDLE)
    )
    return folder / PROGRAM if kept else None


def _in_index(root: Path, *, submodules: bool = False) -> Iterator[str]:
    """Names of the files below a folder that are in git's index, in order; or of the submodules."""
    repository = git_objects.find_repository(root)
    if repository is None or repository.root is None:
        raise UsageError(
            "the project is in no git repository, which says what files its program consists of",
            where=str(root),
            fix="`git init && git add .`",
        )
    below = root.resolve().relative_to(repository.root.resolve()).as_posix()
    listed = git_objects.ask(repository, "ls-files", "--stage", "-z").split(b"\0")
    prefix = "" if below == "." else f"{below}/"
    names = set()
    for row in filter(None, listed):
        mode, _, name = row.partition(b"\t")
        text = os.fsdecode(name)
        if text.startswith(prefix) and mode.startswith(_SUBMODULE) == submodules:
            names.add(text.removeprefix(prefix))
    yield from sorted(names)


def left_out(told: Settings) -> tuple[str, ...]:
    """Folders of a project that a program sees only where its recipe names them under ``sees``."""
    return ("docs", told.golden, told.reports, told.runs)


def _is_seen(
    name: str, patterns: tuple[str, ...] | None, *, recipe: Recipe, root: Path, told: Settings
) -> bool:
    if patterns is not None:
        return any(_fits(name, pattern) for pattern in patterns)
    path = PurePosixPath(name)
    if any(folder in map(str, path.parents) for folder in left_out(told)):
        return False
    top = next((one for one in (told.recipes, told.images) if path.is_relative_to(one)), None)
    below = path.relative_to(top).parts if top else ()
    if top is None or len(below) < 2:
        return True
    own = recipe.name == below[0] and below[1:] != (RECIPE,)
    return own or not any((root / top / below[0] / mark).is_file() for mark in (RECIPE, LOCK))


def _fits(name: str, pattern: str) -> bool:
    """Whether a name is a pattern's, or lies in a folder that is."""
    folder = pattern.rstrip("/")
    return folder == "." or any(
        fnmatchcase(one.as_posix(), folder) for one in (PurePosixPath(name), *PurePosixPath(name).parents)
    )


def _read(path: Path, name: str, *, root: Path, recipe: Recipe) -> ProgramFile | None:
    """A file as it lies there; None where it was removed. A link counts as what it leads to."""
    try:
        target = path.resolve(strict=True)
        status = target.stat()
    except OSError:
        return None
    if not target.is_relative_to(root.resolve()):
        raise RecipeError(
            f"{name} is a link that leads out of the project",
            where=recipe.where("sees"),
            fix="put the file itself there, or declare it under `data`",
        )
    if not stat.S_ISREG(status.st_mode):
        return None
    return ProgramFile(name=name, content=target.read_bytes(), executable=bool(status.st_mode & stat.S_IXUSR))
