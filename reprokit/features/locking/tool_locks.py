"""Reads ``uv.lock``, ``pylock.toml`` and ``poetry.lock``; versions and hashes stay theirs."""

from __future__ import annotations

import dataclasses
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

from reprokit.errors import ImageError
from reprokit.features.locking import project_file, requirements_file
from reprokit.features.locking.dependencies import (
    Dependencies,
    Wanted,
    combined,
    file_of_repository,
    not_pinned,
    requirement,
)
from reprokit.features.locking.python_limits import standard_range
from reprokit.images.packages import Target, read_text
from reprokit.images.subprocesses import uv_program

_MAIN = "main"  # Poetry's name of the group that is always installed


def read_uv_lock(path: Path, *, root: Path, wanted: Wanted) -> Dependencies:
    """What ``uv.lock`` names for these extras and groups, by ``uv export``; without the default groups.

    Of a workspace, what all of its projects need: which of them the program imports is not known.

    Raises:
        ImageError: The lock does not fit its ``pyproject.toml``, or something in it cannot be pinned.
    """
    command = [uv_program(), "export", "--frozen", "--offline", "--quiet", "--no-header", "--no-annotate"]
    command += ["--format", "requirements.txt", "--no-default-groups", "--project", str(path.parent)]
    lock = _read(path)
    command += ["--all-packages"] if (lock.get("manifest") or {}).get("members") else []
    command += [f"--extra={one}" for one in wanted.extras] + [f"--group={group}" for group in wanted.groups]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImageError(
            "uv cannot read its lock",
            where=str(path),
            actual=done.stderr.strip() or f"exit code {done.returncode}",
            fix="run `uv lock` in its folder, and check the names of extras and groups",
        )
    found = requirements_file.parse_lines(
        done.stdout, base=path.parent, name=path.name, root=root, wanted=wanted
    )
    # What the editable projects depend on is in the lock itself, in its versions.
    pinned = tuple(one for one in found.requirements if one.where.startswith(f"{path.name}:"))
    python = str(lock.get("requires-python") or "")
    return dataclasses.replace(found, requirements=pinned, python=python)


def read_pylock(path: Path, *, root: Path, wanted: Wanted) -> Dependencies:
    """What ``pylock.toml`` (PEP 751) names for this Python and machine.

    Raises:
        ImageError: It cannot be read, or names a package that comes from an address.
    """
    data = _read(path, key="packages")
    return combined(
        [
            Dependencies(python=str(data.get("requires-python") or "")),
            *(
                _of_pylock(one, path=path, root=root)
                for one in data["packages"]
                if _is_needed(one.get("marker"), wanted, path=path)
            ),
        ]
    )


def read_poetry_lock(path: Path, *, root: Path, wanted: Wanted) -> Dependencies:
    """What ``poetry.lock`` names for the main group, these groups and these extras.

    A lock of Poetry 1 says nothing of groups: all of its packages are taken that no extra asks for.

    Raises:
        ImageError: It cannot be read, has no such extra, or names a package that comes from an address.
    """
    data = _read(path, key="package")
    known: Mapping[str, list[str]] = data.get("extras") or {}
    if unknown := [one for one in wanted.extras if one not in known]:
        expected = " or ".join(sorted(known)) or "none: the file has none"
        raise ImageError(f"there is no extra {unknown[0]!r}", where=str(path), expected=expected)
    asked = {_plain(text) for extra in wanted.extras for text in known[extra]}
    groups = {_MAIN, *wanted.groups}
    taken = (one for one in data["package"] if _is_taken(one, groups, asked, wanted, path=path))
    python = str((data.get("metadata") or {}).get("python-versions") or "")
    return combined(
        [
            _project_beside(path),
            Dependencies(python=standard_range(python)),
            *(_of_poetry(one, path=path, root=root) for one in taken),
        ]
    )


def _project_beside(path: Path) -> Dependencies:
    project = path.parent / "pyproject.toml"
    if not project.is_file():
        return Dependencies()
    tool = tomllib.loads(read_text(project)).get("tool") or {}
    if (tool.get("poetry") or {}).get("package-mode") is False:
        return Dependencies()
    project_file.editable_of(path.parent)  # raises where it has no name
    return Dependencies(editable=(path.parent.resolve(),))


def _is_taken(
    one: Mapping[str, Any], groups: set[str], asked: set[str], wanted: Wanted, *, path: Path
) -> bool:
    if one.get("optional") and _plain(str(one.get("name"))) not in asked:
        return False
    own = set(one.get("groups") or groups)
    if not own & groups:
        return False
    markers = one.get("markers")
    texts = [markers] if isinstance(markers, str) else [(markers or {}).get(name) for name in own & groups]
    return not texts or any(_is_needed(text, wanted, path=path) for text in texts)


def _of_poetry(one: Mapping[str, Any], *, path: Path, root: Path) -> Dependencies:
    name, version, source = str(one.get("name")), str(one.get("version")), one.get("source") or {}
    kind, address = source.get("type"), str(source.get("url") or "")
    if kind in {"git", "url"}:
        raise not_pinned(f"{name} {version}", address, where=str(path))
    if kind in {"file", "directory"}:
        return _of_repository(path.parent / address, root=root, where=str(path))
    hashes = [str(file.get("hash")) for file in one.get("files") or ()]
    return _pinned(name, version, hashes, path=path)


def _of_pylock(one: Mapping[str, Any], *, path: Path, root: Path) -> Dependencies:
    name, version = str(one.get("name")), str(one.get("version") or "")
    if (source := one.get("vcs") or one.get("archive")) is not None:
        if source.get("path"):
            return _of_repository(path.parent / source["path"], root=root, where=str(path))
        raise not_pinned(f"{name} {version}".strip(), str(source.get("url")), where=str(path))
    if (directory := one.get("directory")) is not None:
        return _of_repository(path.parent / str(directory.get("path") or "."), root=root, where=str(path))
    wheels = one.get("wheels") or ()
    if (local := next((wheel["path"] for wheel in wheels if wheel.get("path")), None)) is not None:
        return _of_repository(path.parent / local, root=root, where=str(path))
    hashes = [
        f"sha256:{wheel['hashes']['sha256']}" for wheel in wheels if "sha256" in wheel.get("hashes", {})
    ]
    return _pinned(name, version, hashes, path=path)


def _pinned(name: str, version: str, hashes: list[str], *, path: Path) -> Dependencies:
    kept = tuple(hash_ for hash_ in hashes if hash_.startswith("sha256:"))
    return Dependencies(requirements=(requirement(f"{name}=={version}", where=str(path), hashes=kept),))


def _of_repository(named: Path, *, root: Path, where: str) -> Dependencies:
    found = file_of_repository(named, root=root, where=where)
    if found.is_dir():
        project_file.editable_of(found)
        return Dependencies(editable=(found,))
    if found.suffix != ".whl":
        raise ImageError(f"{found.name} is a source archive, and only wheels are installed", where=where)
    return Dependencies(wheels=(found,))


def _is_needed(marker: object, wanted: Wanted, *, path: Path) -> bool:
    if not marker:
        return True
    known: dict[str, Any] = dict(Target(machine=wanted.machine, python=wanted.python).markers)
    known |= {"extras": set(wanted.extras), "dependency_groups": set(wanted.groups)}
    try:
        parsed = Marker(str(marker))
        return any(parsed.evaluate({**known, "extra": extra}) for extra in (*wanted.extras, ""))
    except (InvalidMarker, UndefinedEnvironmentName) as error:
        raise ImageError(f"a marker cannot be read: {marker}", where=str(path)) from error


def _plain(text: str) -> str:
    """The normalised name at the beginning of a requirement."""
    end = next((n for n, sign in enumerate(text) if not (sign.isalnum() or sign in "-_.")), len(text))
    return text[:end].replace("_", "-").replace(".", "-").lower()


def _read(path: Path, *, key: str = "") -> dict[str, Any]:
    """The lock; without its list of packages, under ``key``, it does not say that none is needed."""
    try:
        found = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # endless digits and nesting too
        raise ImageError(f"not valid TOML: {error}", where=str(path), fix="make the lock again") from error
    if key and key not in found:
        raise ImageError(f"there is no list of `{key}` in it", where=str(path), fix="make the lock again")
    return found
