"""Whether a lock still has the versions that the files which it was made from ask for; no index is asked."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from packaging.requirements import Requirement as Parsed
from packaging.utils import canonicalize_name

from reprokit.errors import ImageError
from reprokit.features.locking import variant_file
from reprokit.features.locking.dependencies import Requirement, Wanted, combined, read_dependencies
from reprokit.images import locks
from reprokit.images.packages import Target, read_packages
from reprokit.project import project_folder


def must_not_contradict(name: str, *, project: Path) -> None:
    """Refuse an environment whose lock contradicts the files that it was made from.

    A file that is not there, as in a bundle, asks for nothing.

    Args:
        name: Of the environment, ``images/<name>``.
        project: The folder that holds ``images/``.

    Raises:
        ImageError: A version in the lock is not one that a file asks for; both are named.
    """
    declared = variant_file.read(project_folder(project, "images") / name / locks.VARIANT)
    if declared is None:
        return
    variant = locks.read_lock(project).variant(name)
    machine = variant.machines[0]
    wanted = Wanted(extras=declared.extras, groups=declared.groups, python=variant.python, machine=machine)
    sources = [project / source for source in declared.sources if (project / source).is_file()]
    asked = combined(read_dependencies(source, root=project, wanted=wanted) for source in sources)
    versions = defaultdict(list)
    for package in read_packages(variant.packages_path):
        versions[package.name].append(package.version)
    markers = {**Target(python=variant.python, machine=machine).markers, "extra": ""}
    for one in asked.requirements:
        if has := _others(one, versions, markers):
            raise ImageError(
                "the lock is out of date",
                where=one.where,
                expected=f"{one.text}, as the file asks for",
                actual=f"{has} in {variant.packages_path.relative_to(project).as_posix()}",
                fix=f"reprokit image lock {name}",
            )


def _others(one: Requirement, versions: dict[str, list[str]], markers: dict[str, str]) -> str:
    """The versions that a lock has of a package, where none of them is asked for; else ""."""
    parsed = Parsed(one.text)
    locked = versions.get(canonicalize_name(parsed.name), [])
    if parsed.marker is not None and not parsed.marker.evaluate(markers):
        return ""
    if any(parsed.specifier.contains(version, prereleases=True) for version in locked):
        return ""
    return ", ".join(f"{parsed.name}=={version}" for version in locked)
