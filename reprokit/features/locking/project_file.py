"""Reads ``pyproject.toml``: what a project depends on, and how it is imported when installed as editable."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Parsed

from reprokit.errors import ImageError
from reprokit.features.locking.dependencies import Dependencies, Wanted, combined, not_pinned, requirement
from reprokit.images.packages import read_text

_FILE = "pyproject.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Editable:
    """A project of the repository: its name, version and scripts, and the folder that Python imports from."""

    name: str
    version: str
    scripts: Mapping[str, str]
    imports_from: Path


def read_project(path: Path, *, root: Path, wanted: Wanted) -> Dependencies:
    """What a project depends on, with extras and groups; it is itself one of the editable ones.

    Raises:
        ImageError: It names no dependencies in the standard's form, has no such extra or group, or needs
            something that cannot be pinned.
    """
    data = _read(path)
    own = Dependencies(editable=(path.parent.resolve(),)) if "build-system" in data else Dependencies()
    groups = (_group(data, name, path=path, above=()) for name in wanted.groups)
    asked = [*_own_requirements(data, wanted, path=path), *combined_lists(groups)]
    pinned = _Sources(data, path=path, root=root)
    return combined([own, *(pinned.resolve(text) for text in asked), _python(data)])


def read_folder(
    folder: Path, *, root: Path, extras: Sequence[str], wanted: Wanted, where: str
) -> Dependencies:
    """The same for a folder that is installed as editable.

    Raises:
        ImageError: As for ``read_project``; or the folder is no project.
    """
    path = folder / _FILE
    if not path.is_file():
        raise ImageError(
            "this folder has no pyproject.toml, so its dependencies are known only by running its setup.py",
            where=where,
            actual=str(folder),
            fix="name its dependencies in the requirements file, and run the program from the repository",
        )
    of_folder = dataclasses.replace(wanted, extras=tuple(extras), groups=())
    found = read_project(path, root=root, wanted=of_folder)
    return dataclasses.replace(found, editable=(folder.resolve(),))


def editable_of(folder: Path) -> Editable:
    """What an editable project is called, and where Python imports it from.

    Raises:
        ImageError: Its ``pyproject.toml`` cannot be read or has no name.
    """
    path = folder / _FILE
    data = _read(path)
    poetry = (data.get("tool") or {}).get("poetry") or {}
    project = data.get("project") or {}
    name = project.get("name") or poetry.get("name")
    if not isinstance(name, str) or not name:
        raise ImageError("the project has no name", where=str(path), fix="add one under [project]")
    first = _import_folder(data) or ("src" if (folder / "src").is_dir() else ".")
    return Editable(
        name=re.sub(r"[-_.]+", "-", name).lower(),
        version=str(project.get("version") or poetry.get("version") or "0"),
        scripts={str(key): str(value) for key, value in (project.get("scripts") or {}).items()},
        imports_from=(folder / first).resolve(),
    )


def combined_lists(lists: Iterator[list[str]]) -> list[str]:
    """Several lists in one."""
    return [one for part in lists for one in part]


def _import_folder(data: Mapping[str, Any]) -> str:
    """Where setuptools looks for packages, as the project says it; empty where it does not."""
    setuptools = (data.get("tool") or {}).get("setuptools") or {}
    packages = setuptools.get("packages")
    found = (packages.get("find") or {}).get("where") if isinstance(packages, dict) else None
    return str(found[0]) if found else str((setuptools.get("package-dir") or {}).get("", ""))


def _own_requirements(data: Mapping[str, Any], wanted: Wanted, *, path: Path) -> list[str]:
    project = data.get("project")
    tool = data.get("tool") or {}
    if not isinstance(project, dict):
        if "poetry" in tool:
            what = "the dependencies are in Poetry's own form"
            raise ImageError(
                what, where=str(path), fix="run `poetry lock`, and name poetry.lock with --dependencies"
            )
        if wanted.groups:
            return []
        raise ImageError("no [project] table", where=str(path), fix="name the file that has the dependencies")
    found = [str(one) for one in project.get("dependencies") or ()]
    if "dependencies" in (project.get("dynamic") or ()):
        found += _dynamic(tool, path=path)
    optional = project.get("optional-dependencies") or {}
    for extra in wanted.extras:
        if extra not in optional:
            raise _no_such("extra", extra, optional, path=path)
        found += [str(one) for one in optional[extra]]
    return _without_itself(found, project, optional)


def _dynamic(tool: Mapping[str, Any], *, path: Path) -> list[str]:
    """Dependencies that setuptools reads from requirement files."""
    named = (((tool.get("setuptools") or {}).get("dynamic") or {}).get("dependencies") or {}).get("file")
    if not named:
        raise ImageError(
            "the dependencies are dynamic, so they are known only by building the project",
            where=str(path),
            fix="name them in a requirements file, and give that one with --dependencies",
        )
    files = [named] if isinstance(named, str) else named
    texts = [read_text(path.parent / file).splitlines() for file in files]
    return [line for text in texts for line in text if line.strip() and not line.lstrip().startswith("#")]


def _without_itself(found: list[str], project: Mapping[str, Any], optional: Mapping[str, Any]) -> list[str]:
    """``all = ["demo[plot]"]`` of the project ``demo``: what that extra names, in place of the project."""
    name, result = str(project.get("name", "")).lower(), list[str]()
    for text in found:
        try:
            parsed = Parsed(text)
        except InvalidRequirement:
            parsed = None
        if parsed is None or parsed.name.lower() != name:
            result.append(text)
        else:
            result += [str(one) for extra in sorted(parsed.extras) for one in optional.get(extra, ())]
    return result


def _group(data: Mapping[str, Any], name: str, *, path: Path, above: tuple[str, ...]) -> list[str]:
    """A dependency group (PEP 735), with those that it includes."""
    groups = data.get("dependency-groups") or {}
    if name not in groups or name in above:
        raise _no_such("dependency group", name, groups, path=path)
    found: list[str] = []
    for one in groups[name]:
        if isinstance(one, dict):
            found += _group(data, str(one.get("include-group")), path=path, above=(*above, name))
        else:
            found.append(str(one))
    return found


def _no_such(kind: str, name: str, known: Mapping[str, Any], *, path: Path) -> ImageError:
    expected = " or ".join(sorted(known)) or "none: the file has none"
    return ImageError(f"there is no {kind} {name!r}", where=str(path), expected=expected)


def _python(data: Mapping[str, Any]) -> Dependencies:
    return Dependencies(python=str((data.get("project") or {}).get("requires-python") or ""))


class _Sources:
    """Where ``[tool.uv.sources]`` says that a package comes from."""

    def __init__(self, data: Mapping[str, Any], *, path: Path, root: Path) -> None:
        uv = (data.get("tool") or {}).get("uv") or {}
        self._sources = {key.lower(): value for key, value in (uv.get("sources") or {}).items()}
        self._indexes = {one.get("name"): one.get("url") for one in uv.get("index") or ()}
        self._path, self._root = path, root

    def resolve(self, text: str) -> Dependencies:
        from reprokit.features.locking import requirements_file

        where = str(self._path)
        own = requirement(text, where=where)
        source = self._sources.get(Parsed(own.text).name.lower(), {})
        entries = source if isinstance(source, list) else [source]
        result = Dependencies(requirements=(own,))
        for entry in entries:
            if "git" in entry or "url" in entry:
                raise not_pinned(Parsed(text).name, str(entry.get("git") or entry["url"]), where=where)
            if "path" in entry:
                line = f"-e {entry['path']}" if not str(entry["path"]).endswith(".whl") else entry["path"]
                base, wanted = self._path.parent, Wanted()
                return requirements_file.parse_lines(
                    str(line), base=base, name=where, root=self._root, wanted=wanted
                )
            if (index := self._indexes.get(entry.get("index"))) is not None:
                result += Dependencies(indexes=(str(index),))
        return result


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # endless digits and nesting too
        raise ImageError(f"not valid TOML: {error}", where=str(path), fix="correct the file") from error
