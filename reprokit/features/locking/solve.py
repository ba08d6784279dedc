"""Solves ``requirements.in`` into a lock with every hash, with uv.

Wheels that no index has are described in ``lock.toml`` (requirements and hashes), so the same lock comes
out wherever it is solved.

    >>> solve_variant(lock, lock.variant("cpu")).moved
    ('numpy 2.4.5 -> 2.4.6',)
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.errors import ImageError
from reprokit.images.building.debian_packages import moved_versions
from reprokit.images.locks import External, Lock, Variant
from reprokit.images.packages import Package, Target, packages_for, read_packages
from reprokit.images.subprocesses import uv_program
from reprokit.layout import LOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The text of a lock, its changes (``name old -> new``), and whether the lock on disk is the same."""

    text: str
    moved: tuple[str, ...]
    agrees: bool


def solve_variant(lock: Lock, variant: Variant) -> Solution:
    """Solve a variant's ``requirements.in`` for every machine that it covers."""
    return solve(
        (variant.input_path,),
        output=variant.packages_path,
        external=lock.external if variant.indexes else (),
        python=variant.python,
        targets=tuple(Target(machine=machine, python=variant.python) for machine in variant.machines),
        made_by=f"reprokit image lock {variant.name}",
    )


def solve(
    inputs: Sequence[Path],
    *,
    output: Path,
    external: Sequence[External],
    python: str,
    targets: Sequence[Target] = (),
    options: Sequence[str] = (),
    platform: str = "",
    local_wheels: Path | None = None,
    made_by: str,
) -> Solution:
    """Solve, keeping the versions of the lock at ``output`` wherever they still fit.

    ``inputs`` are ``requirements.in`` and ``pyproject.toml`` files; what none of ``targets`` needs is left
    out (none: for every platform and every Python from ``python`` on); ``platform`` is the only one to solve
    for, as uv names it, from wheels alone; ``local_wheels`` a folder of wheels that no index has; ``made_by``
    the command for the lock's first line.

    Raises:
        ImageError: There is no solution, or the package index could not be reached.
    """
    with tempfile.TemporaryDirectory(prefix="reprokit-solve-") as name:
        folder = Path(name)
        for one in external:
            write_stub(folder, one)
        solved = folder / LOCK
        if output.is_file():
            shutil.copyfile(output, solved)
        wheels = ",".join(filter(None, (name, str(local_wheels or ""))))
        for_which = [f"--python-platform={platform}", "--only-binary=:all:"] if platform else ["--universal"]
        _run_uv([*map(str, inputs), *for_which, *options], output=solved, python=python, wheels=wheels)
        packages = tuple(_finished(read_packages(solved), external, targets))
    before = output.read_text(encoding="utf-8") if output.is_file() else ""
    old = read_packages(output) if output.is_file() else ()
    text = head(made_by) + "".join(map(rendered, packages))
    return Solution(
        text=text, moved=moved_versions(versions_of(old), versions_of(packages)), agrees=before == text
    )


def write_stub(folder: Path, external: External) -> None:
    """A wheel that holds nothing but what the solver asks for: name, version, requirements."""
    name = external.name.replace("-", "_")
    info = f"{name}-{external.version}.dist-info"
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {external.name}",
        f"Version: {external.version}",
        *(f"Requires-Dist: {require}" for require in external.requires),
    ]
    with zipfile.ZipFile(folder / f"{name}-{external.version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", "\n".join(metadata) + "\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def head(made_by: str) -> str:
    """The first line of a lock."""
    return f"# Solved by `{made_by}`: hashes and no addresses, so that it works behind any mirror.\n"


def rendered(package: Package) -> str:
    """A package as the lines of a lock."""
    marker = f" ; {package.marker}" if package.marker else ""
    lines = [f"{package.pin}{marker}", *(f"    --hash={hash_}" for hash_ in sorted(package.hashes))]
    return " \\\n".join(lines) + "\n"


def versions_of(packages: Sequence[Package]) -> dict[str, str]:
    """Package → version, or several with a slash between them."""
    versions: dict[str, str] = {}
    for package in packages:
        versions[package.name] = " / ".join(filter(None, (versions.get(package.name), package.version)))
    return versions


def _run_uv(arguments: Sequence[str], *, output: Path, python: str, wheels: str) -> None:
    quiet = ["--quiet", "--no-config", "--no-header", "--no-annotate", "--no-emit-index-url"]
    quiet += ["--no-python-downloads"]  # a Python is fetched only where that is asked for
    wanted = ["--generate-hashes", "--python-version", python, "--output-file", str(output)]
    command = [uv_program(), "pip", "compile", *quiet, *wanted, *arguments]
    folders = ",".join(filter(None, (os.environ.get("UV_FIND_LINKS"), wheels)))
    variables = {**os.environ, "UV_FIND_LINKS": folders}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImageError(
            "the packages could not be solved",
            where=" ".join(argument for argument in arguments if argument.endswith((".in", ".toml"))),
            actual=done.stderr.strip() or f"exit code {done.returncode}",
            fix="correct the versions named above, or check that the package index can be reached",
        )


def _finished(
    packages: Sequence[Package], external: Sequence[External], targets: Sequence[Target]
) -> Iterator[Package]:
    """Real hashes in place of the stubs'; what no target needs, and markers all agree on, dropped."""
    wheels = {(one.name, one.version): one.wheels for one in external}
    tags = {f"-{target.abi}-" for target in targets}
    for package in packages:
        answers = {bool(packages_for([package], target)) for target in targets}
        if answers == {False}:
            continue
        files = wheels.get((package.name, package.version))
        if files is not None:
            kept = (digest for file, digest in files.items() if not tags or any(tag in file for tag in tags))
            package = dataclasses.replace(package, hashes=tuple(kept))  # noqa: PLW2901
        yield dataclasses.replace(package, marker=None) if answers == {True} else package
