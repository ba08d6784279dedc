"""A lock solved again with other requirements or another Python, all else kept as far as it fits."""

from __future__ import annotations

import dataclasses
import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from reprokit.errors import ImageError, UsageError
from reprokit.features.locking.base_of_python import move_base
from reprokit.features.locking.solve import solve, versions_of
from reprokit.images.building.debian_packages import moved_versions
from reprokit.images.cache import Progress
from reprokit.images.locks import VARIANT, External, Variant, read_lock
from reprokit.images.packages import Package, Target, read_packages
from reprokit.layout import LOCK
from reprokit.workspace import write_atomic

_PYTHON = re.compile(r"3\.\d+")


def lock_with(
    name: str,
    wanted: Sequence[str],
    *,
    python: str | None,
    in_container: bool = False,
    project: Path,
    on_progress: Progress,
) -> tuple[str, ...]:
    """Solve an environment's lock again in place and write it: what moved, a line each.

    Each package of the lock stays in it, at its version wherever that still fits.

    Args:
        name: Of the environment.
        wanted: Requirements such as ``jax==0.5.3``, of packages that are in the lock.
        python: Another version of Python; None for its own.
        in_container: Whether an image is built of it, whose base must have that Python.
        project: The folder that holds ``images/``.
        on_progress: Called with one line for a person now and then.

    Raises:
        UsageError: Something asked for is no requirement, or of a package that the lock has not.
        ImageError: There is no solution, or the package index could not be reached.
    """
    lock = read_lock(project)
    variant = lock.variant(name)
    have = read_packages(variant.packages_path)
    asked = _asked(wanted, have, where=str(variant.packages_path))
    if python is not None:
        variant = _with_python(variant, python)
        if in_container:
            move_base(name, project=project, on_progress=on_progress)
    told = [*asked.values(), *([f"Python {python}"] if python else [])]
    on_progress(f"solving {name} with {', '.join(told)}")
    try:
        text = _solved(variant, have, asked, everybodys=lock.external, pinned=python is not None)
    except ImageError:
        if python is None:
            raise
        text = _solved(variant, have, asked, everybodys=lock.external, pinned=False)
    write_atomic(variant.packages_path, text.encode("utf-8"))
    return moved_versions(versions_of(have), versions_of(read_packages(variant.packages_path)))


def _solved(
    variant: Variant,
    have: Sequence[Package],
    asked: Mapping[str, str],
    *,
    everybodys: Sequence[External],
    pinned: bool,
) -> str:
    """The text of the lock; ``pinned`` keeps all other versions, and takes no hash of before.

    A lock holds the hashes of the wheels of its Python, which the solver keeps where it sees them.
    """
    external = external_of(variant, everybodys)
    names = {package.name for package in have} if pinned else {one.name for one in external}
    lines = [_line(package, pinned=names) for package in have if package.name not in asked]
    with tempfile.TemporaryDirectory(prefix="reprokit-with-") as folder:
        source, before = Path(folder) / "requirements.in", Path(folder) / LOCK
        source.write_text("\n".join([*lines, *asked.values(), ""]), encoding="utf-8")
        return solve(
            (source,),
            output=before if pinned else variant.packages_path,
            external=external,
            python=variant.python,
            targets=tuple(Target(machine=one, python=variant.python) for one in variant.machines),
            made_by=f"reprokit image lock {variant.name}",
        ).text


def _asked(wanted: Sequence[str], have: Sequence[Package], *, where: str) -> dict[str, str]:
    known, asked = {package.name for package in have}, dict[str, str]()
    for text in wanted:
        try:
            name = canonicalize_name(Requirement(text).name)
        except InvalidRequirement as error:
            raise UsageError(
                "not a requirement", where=text, expected="NAME==VERSION, such as numpy==2.4.5"
            ) from error
        if name not in known:
            raise UsageError(f"the lock has no package {name}", where=where, fix="`reprokit image list`")
        asked[name] = text
    return asked


def _line(package: Package, *, pinned: set[str]) -> str:
    """A package as an input of the solver: one that no index has keeps its version."""
    what = package.pin if package.name in pinned else package.name
    return f"{what} ; {package.marker}" if package.marker else what


def external_of(variant: Variant, everybodys: Sequence[External]) -> tuple[External, ...]:
    """The wheels of an environment that its package index does not have."""
    if variant.own is not None:
        return variant.own.external
    return tuple(everybodys) if variant.indexes else ()


def _with_python(variant: Variant, python: str) -> Variant:
    """The same with another Python, written where it is declared."""
    if not _PYTHON.fullmatch(python):
        raise UsageError("not a version of Python", where=python, expected="such as 3.13")
    file = variant.declared_in
    text = file.read_text(encoding="utf-8")
    start = text.index(f"[variants.{variant.name}]") if file.name != VARIANT else 0
    changed = text[:start] + re.sub(r'(?m)^python = "[\d.]+"$', f'python = "{python}"', text[start:], count=1)
    tomllib.loads(changed)
    write_atomic(file, changed.encode("utf-8"))
    return dataclasses.replace(variant, python=python)
