"""Solves what a project's own files ask for, for one Python and one kind of machine, wheels only.

Packages are chosen as pip would choose them. One that has no wheel is then an error by name: to fall back to
an older release that happens to have one would change what the program computes, and say nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement as Parsed
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from reprokit.errors import ImageError
from reprokit.features.locking.dependencies import Dependencies
from reprokit.features.locking.solve import write_stub
from reprokit.images.locks import External
from reprokit.images.packages import Package, Target, normalised
from reprokit.images.subprocesses import uv_program
from reprokit.images.wheels import platform_tags
from reprokit.layout import LOCK
from reprokit.workspace import sha256_of

_NOT_BUILT = re.compile(r"Failed to (?:download and )?build `([\w.-]+==[\w.+!-]+)`")


class SourceOnlyError(ImageError):
    """Packages are distributed as source only, ``requirements``: wheels of them have to be built first."""

    def __init__(self, *requirements: str, actual: str | None = None) -> None:
        named = ", ".join(requirement.replace("==", " ") for requirement in requirements)
        one = len(requirements) == 1
        has, is_ = ("has no wheel", "it is") if one else ("have no wheels", "they are")
        options = " ".join(f"--build '{requirement}'" for requirement in requirements)
        builds = "builds one here, once, and keeps it" if one else "builds them here, once, and keeps them"
        super().__init__(
            f"{named} {has}: {is_} distributed as source only",
            actual=actual,
            fix=f"{options} {builds} next to the lock",
        )
        self.requirements = requirements


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveConditions:
    """What a solution is for and may take: target, newest glibc, wheels at hand, those of other indexes.

    Attributes:
        built: ``name==version`` of those at hand that were built here, of an archive that the files allow.
    """

    target: Target
    glibc: str
    wheels: Path
    built: Sequence[str] = ()
    external: Sequence[External] = ()
    constraints: Sequence[str] = ()


def solve_for(dependencies: Dependencies, *, given: SolveConditions, output: Path) -> tuple[Package, ...]:
    """Solve, keeping the versions of the lock that is there wherever they still fit.

    Raises:
        ImageError: There is no solution; a package has no wheel for the target; the index serves other
            files than the hashes in the project's file allow; or the index could not be reached.
    """
    with tempfile.TemporaryDirectory(prefix="reprokit-solve-") as name:
        folder = Path(name)
        for one in given.external:
            write_stub(folder, one)
        for wheel in given.wheels.glob("*.whl"):
            shutil.copyfile(wheel, folder / wheel.name)
        pins = _pins(dependencies, given, folder=folder, output=output)
        described = _described(pins, given, folder=folder, indexes=dependencies.indexes)
    allowed = allowed_hashes(dependencies)
    for built in given.built:  # the hash in the files is that of its source
        allowed.pop(normalised(built.partition("==")[0]), None)
    found: list[Package] = []
    source_only: list[str] = []
    for facts in described:  # all of them are named at once: each solution takes a minute or two
        try:
            found.append(_package(facts, given, allowed=allowed))
        except SourceOnlyError as error:
            source_only += error.requirements
    if source_only:
        raise SourceOnlyError(*source_only)
    return tuple(found)


def allowed_hashes(dependencies: Dependencies) -> dict[str, set[str]]:
    """Package → the hashes that the project's files allow, where they have some."""
    hashed = (requirement for requirement in dependencies.requirements if requirement.hashes)
    return {normalised(Parsed(one.text).name): set(one.hashes) for one in hashed}


def _pins(dependencies: Dependencies, given: SolveConditions, *, folder: Path, output: Path) -> str:
    wanted, constraints, solved = folder / "wanted.in", folder / "constraints.txt", folder / LOCK
    own = [_exact(wheel) for wheel in sorted(given.wheels.glob("*.whl"))]
    wanted.write_text(
        "\n".join([*(requirement.text for requirement in dependencies.requirements), *own, ""]),
        encoding="utf-8",
    )
    constraints.write_text("\n".join([*dependencies.constraints, *given.constraints, ""]), encoding="utf-8")
    if output.is_file():
        shutil.copyfile(output, solved)
    arguments = [str(wanted), "--constraints", str(constraints), "--output-file", str(solved)]
    _uv([*arguments, "--no-annotate"], given, folder=folder, indexes=dependencies.indexes)
    return solved.read_text(encoding="utf-8")


def _described(
    pins: str, given: SolveConditions, *, folder: Path, indexes: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Each pinned package with the files that there are of it."""
    pinned, output = folder / "pinned.in", folder / "pylock.toml"
    pinned.write_text(pins, encoding="utf-8")
    arguments = [str(pinned), "--no-deps", "--format", "pylock.toml", "--output-file", str(output)]
    _uv([*arguments, "--generate-hashes"], given, folder=folder, indexes=indexes)
    found: list[Mapping[str, Any]] = tomllib.loads(output.read_text(encoding="utf-8")).get("packages") or []
    return found


def _uv(arguments: Sequence[str], given: SolveConditions, *, folder: Path, indexes: Sequence[str]) -> None:
    tag = f"{given.target.machine}-manylinux_{given.glibc.replace('.', '_')}"
    command = [uv_program(), "pip", "compile", "--quiet", "--no-config", "--no-header"]
    command += ["--no-python-downloads"]  # a Python is fetched only where that is asked for
    command += ["--python-version", given.target.version, "--python-platform", tag, *arguments]
    command += [f"--extra-index-url={index}" for index in indexes]
    folders = ",".join(filter(None, (os.environ.get("UV_FIND_LINKS"), str(folder))))
    variables = {**os.environ, "UV_FIND_LINKS": folders}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        if unbuilt := _NOT_BUILT.search(done.stderr):  # uv asks its setup.py what it needs
            raise SourceOnlyError(unbuilt[1], actual=done.stderr.strip()[-800:])
        raise ImageError(
            "the packages could not be solved",
            actual=done.stderr.strip() or f"exit code {done.returncode}",
            fix="correct the versions named above, or check that the package index can be reached",
        )


def _package(one: Mapping[str, Any], given: SolveConditions, *, allowed: Mapping[str, set[str]]) -> Package:
    name, version = normalised(str(one["name"])), str(one["version"])
    files = dict(_files(one, given, name=name, version=version))
    fitting = set(tags_of(given.target, glibc=given.glibc))
    fits = [digest for file, digest in files.items() if _tags(file) & fitting]
    if not fits:
        raise _no_wheel(name, version, files, given)
    kept = [digest for digest in fits if digest in allowed.get(name, set(fits))]
    if not kept:
        raise ImageError(
            f"{name} {version}: no wheel for this environment has one of the hashes in the project's file",
            expected=" or ".join(sorted(allowed[name])[:4]),
            actual=" or ".join(sorted(fits)),
            fix="if the file was locked for another platform, lock it again there; else the index serves "
            "a different file: do not use it",
        )
    return Package(name=name, version=version, marker=None, hashes=tuple(sorted(kept)))


def _files(
    one: Mapping[str, Any], given: SolveConditions, *, name: str, version: str
) -> Iterator[tuple[str, str]]:
    """File name → digest of every wheel of a package: at hand, of another index, or as the index says."""
    local = [
        wheel for wheel in given.wheels.glob("*.whl") if _identity(wheel.name) == (name, _version(version))
    ]
    if local:
        yield from ((wheel.name, sha256_of(wheel)) for wheel in local)
        return
    external = [one for one in given.external if (normalised(one.name), one.version) == (name, version)]
    if external:
        yield from external[0].wheels.items()
        return
    for wheel in one.get("wheels") or ():
        place = str(wheel.get("name") or wheel.get("path") or wheel.get("url"))
        digest = (wheel.get("hashes") or {}).get("sha256")
        if digest:
            yield re.split(r"[#?]", place)[0].rpartition("/")[2].replace("%2B", "+"), f"sha256:{digest}"


def tags_of(target: Target, *, glibc: str) -> Iterator[Tag]:
    """The tags of every wheel that can be installed on a target."""
    platforms = platform_tags(target.machine, glibc=glibc)
    major, minor = map(int, target.version.split("."))
    # named, or a tool that itself runs without the GIL would take its own kind
    yield from cpython_tags((major, minor), abis=[target.abi], platforms=platforms)
    yield from compatible_tags((major, minor), f"cp{major}{minor}", platforms)


def _no_wheel(name: str, version: str, files: Mapping[str, str], given: SolveConditions) -> ImageError:
    where = f"Python {given.target.python}, {given.target.machine}, glibc {given.glibc}"
    if files:
        return ImageError(
            f"{name} {version} has no wheel for {where}",
            actual=", ".join(sorted(files)[:3]),
            fix=f"ask for a version of {name} that has one, or lock for another Python: --python",
        )
    return SourceOnlyError(f"{name}=={version}")


def _tags(file: str) -> set[Tag]:
    try:
        return set(parse_wheel_filename(file)[3])
    except InvalidWheelFilename:
        return set()


def _identity(file: str) -> tuple[str, str]:
    name, version, _, _ = parse_wheel_filename(file)
    return str(name), str(version)


def _version(text: str) -> str:
    from packaging.version import Version

    return str(Version(text))


def _exact(wheel: Path) -> str:
    return "==".join(_identity(wheel.name))
