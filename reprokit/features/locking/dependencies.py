"""What a project's own files ask for, as one list: the input of a lock.

>>> read_dependencies(Path("requirements.txt"), root=Path("."), wanted=Wanted(python="3.11")).requirements
(Requirement(text='numpy>=2', hashes=(), where='requirements.txt:1'),)
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Parsed

from reprokit.errors import ImageError

_NO_ADDRESS = (
    "build a wheel of it (`pip wheel --no-deps ADDRESS`), keep the file in the repository, and name the file "
    "in place of the address"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One requirement (PEP 508), the hashes that its file allows (empty: any), and ``file:line``."""

    text: str
    hashes: tuple[str, ...] = ()
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What files ask for.

    Attributes:
        constraints: Versions to keep to where a package is needed.
        wheels: Files of the repository.
        editable: Folders of the repository that are projects, installed in editable form.
        indexes: Package indexes to ask besides the configured ones.
        python: Which versions of Python they allow (PEP 440); empty for any.
    """

    requirements: tuple[Requirement, ...] = ()
    constraints: tuple[str, ...] = ()
    wheels: tuple[Path, ...] = ()
    editable: tuple[Path, ...] = ()
    indexes: tuple[str, ...] = ()
    python: str = ""

    def __add__(self, other: Dependencies) -> Dependencies:
        def both(name: str) -> tuple[object, ...]:
            return tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name))))

        names = [field.name for field in dataclasses.fields(self) if field.name != "python"]
        python = ",".join(dict.fromkeys(filter(None, (self.python, other.python))))
        return Dependencies(**{name: both(name) for name in names}, python=python)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which part of a file is asked for: extras, dependency groups; and for which Python and machine."""

    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    python: str = "3.11"
    machine: str = "x86_64"


def read_dependencies(path: Path, *, root: Path, wanted: Wanted) -> Dependencies:
    """Read a file that names dependencies, by what it is called.

    Args:
        path: The file.
        root: The repository; nothing outside of it can be part of a lock.
        wanted: Which extras and groups of it.

    Raises:
        ImageError: The file cannot be read, is none of these kinds, or names something that cannot be
            pinned; the message names it.
    """
    if not path.is_file():
        raise ImageError(
            "there is no such file", where=str(path), fix="name an existing file with --dependencies"
        )
    try:
        return _by_name(path, root=root, wanted=wanted)
    except (AttributeError, KeyError, TypeError) as error:  # a number where a list or a table belongs
        raise ImageError(
            "its content is not of the form that such a file has",
            where=str(path),
            actual=str(error),
            fix="have the program that writes it make it again",
        ) from error


def _by_name(path: Path, *, root: Path, wanted: Wanted) -> Dependencies:
    from reprokit.features.locking import (
        environment_file,
        project_file,
        requirements_file,
        script_file,
        tool_locks,
    )

    name = path.name
    if name == "uv.lock":
        return tool_locks.read_uv_lock(path, root=root, wanted=wanted)
    if name == "poetry.lock":
        return tool_locks.read_poetry_lock(path, root=root, wanted=wanted)
    if re.fullmatch(r"pylock(\.[^.]+)?\.toml", name):
        return tool_locks.read_pylock(path, root=root, wanted=wanted)
    if name == "pixi.toml":
        return environment_file.read_pixi(path, root=root, wanted=wanted)
    if name == "pyproject.toml":
        return project_file.read_project(path, root=root, wanted=wanted)
    by_suffix = {
        **dict.fromkeys((".yml", ".yaml"), environment_file.read_environment),
        **dict.fromkeys((".txt", ".in", ".lock"), requirements_file.read_requirements),
        ".py": script_file.read_script,
    }
    if path.suffix in by_suffix:
        return by_suffix[path.suffix](path, root=root, wanted=wanted)
    raise ImageError(
        "this kind of file is not known",
        where=str(path),
        expected="requirements*.txt, uv.lock, pylock.toml, pyproject.toml, poetry.lock, environment.yml, "
        "pixi.toml or a script that names its own",
    )


def requirement(text: str, *, where: str, hashes: Collection[str] = ()) -> Requirement:
    """A requirement by name.

    Raises:
        ImageError: It is none, or an address, which cannot be pinned by a hash alone.
    """
    try:
        parsed = Parsed(text)
    except InvalidRequirement as error:
        what = f"{text!r} is not a requirement"
        raise ImageError(what, where=where, actual=str(error).partition("\n")[0]) from error
    if parsed.url:
        raise not_pinned(parsed.name, parsed.url, where=where)
    return Requirement(text=str(parsed), hashes=tuple(hashes), where=where)


def not_pinned(name: str, address: str, *, where: str) -> ImageError:
    """The error for a package that comes from an address: a repository, an archive."""
    what = f"{name} cannot be pinned: it comes from an address, and locks hold none"
    return ImageError(what, where=where, actual=address, fix=_NO_ADDRESS)


def file_of_repository(path: Path, *, root: Path, where: str) -> Path:
    """A path that a dependency file names, absolute.

    Raises:
        ImageError: It does not exist, or is outside the repository.
    """
    found = path.resolve()
    if not found.exists():
        raise ImageError("there is no such file or folder", where=where, actual=str(path))
    if not found.is_relative_to(root.resolve()):
        raise ImageError(
            "this file is outside the repository, so no one else has it",
            where=where,
            expected=f"a path below {root}",
            actual=str(path),
            fix="put it into the repository, and name it there",
        )
    return found


def combined(parts: Iterable[Dependencies]) -> Dependencies:
    """Several in one."""
    result = Dependencies()
    for part in parts:
        result += part
    return result
