"""Which files of its commit a side's tree has: all, or those alone that its runs can see."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from reprokit.capture import git_history
from reprokit.harness.running.numbers import PACKAGE, trainers_paths
from reprokit.layout import RECIPE
from reprokit.project import Project

PROJECT_FILE = "pyproject.toml"


class Part(IntEnum):
    """Which files of its commit a tree has.

    Attributes:
        DIGESTED: Those that tell what a trainer's runs stand on.
        MOUNTED: All that a trainer is given in a container, where it sees no others.
        WHOLE: Every one.
    """

    DIGESTED = 1
    MOUNTED = 2
    WHOLE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The files of a commit that were put into its tree.

    Attributes:
        part: Which they are.
        paths: The files and folders of the project that are there; none for all.
        pointers: Those of git-lfs whose contents this clone does not have.
    """

    part: Part
    paths: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()


def is_likely_mounted(name: str, backend: str, project: Project) -> bool:
    """Whether it is a trainer in a container, as far as can be told at once; each tree is asked later."""
    engine = backend == "docker" or os.environ.get("DOCKER_HOST") or Path("/var/run/docker.sock").exists()
    if backend == "local" or not engine:
        return False
    with suppress(OSError, ValueError):
        lines = (project.recipes_dir / name / RECIPE).read_text(encoding="utf-8").splitlines()
        return any(line.startswith("trainer:") for line in lines)
    return False


def put_files(tree: Path, part: Part) -> Files:
    """Put a part of its commit into a tree.

    It is the whole where a link that a container would be given leads to a file that is none of the part.
    """
    paths = _paths(tree, part)
    pointers = git_history.check_out(tree, paths)
    if part is Part.MOUNTED and any(path.is_symlink() and not path.exists() for path in tree.rglob("*")):
        return Files(part=Part.WHOLE, pointers=git_history.check_out(tree))
    return Files(part=part, paths=paths, pointers=pointers)


def _paths(tree: Path, part: Part) -> tuple[str, ...]:
    """The files and folders that are a part of a project; none for all."""
    if part is Part.WHOLE:
        return ()
    package = (PACKAGE.name,) if part is Part.MOUNTED else ()
    return (PROJECT_FILE, *trainers_paths(tree), *package)
