"""Takes torch's build for CPUs where an environment is for CPUs: the package index has the one for CUDA.

The builds that are known, with their hashes, are those of the tool's own ``images/lock.toml``; the one that
is taken is copied into the environment, with the index that has it.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Sequence
from pathlib import Path

from packaging.version import Version

from reprokit.errors import ImageError
from reprokit.features.locking.dependencies import Dependencies
from reprokit.features.locking.solve_target import SolveConditions, solve_for
from reprokit.features.locking.variant_file import Declared, externals
from reprokit.images.cache import Progress
from reprokit.images.locks import External
from reprokit.images.packages import Package, Target, read_text
from reprokit.images.wheels import is_reachable
from reprokit.layout import LOCK
from reprokit.packaged import packaged

_TORCH = "torch"


def solve_for_device(
    asked: Dependencies, declared: Declared, *, folder: Path, on_progress: Progress
) -> tuple[tuple[Package, ...], Declared]:
    """Solve what files ask for; returns the packages, and what is declared with the indexes that have them.

    Raises:
        ImageError: As for ``solve_for``.
    """
    known, torch_index = _known_builds(declared)
    own = (index for index in declared.indexes if index not in torch_index)
    indexes = tuple(dict.fromkeys((*own, *asked.indexes)))
    reachable = tuple(index for index in indexes if is_reachable(index))
    for one in (index for index in indexes if index not in reachable):
        on_progress(f"{one} cannot be reached: solving without it")
    asked = dataclasses.replace(asked, indexes=reachable)
    target = Target(machine=declared.machines[0], python=declared.python)
    given = SolveConditions(
        target=target, glibc=declared.glibc, wheels=folder / "local", built=declared.build
    )
    for_cpu = declared.device == "cpu"
    # What was taken last time comes first, so that nothing moves unasked.
    taken = _first_that_fits(asked, given, declared.external if for_cpu else (), output=folder / LOCK)
    if taken is None:
        packages = solve_for(asked, given=given, output=folder / LOCK)
        torch = next((package for package in packages if package.name == _TORCH), None)
        if torch is not None and for_cpu and not Version(torch.version).local:
            taken = _first_that_fits(asked, given, known, output=folder / LOCK)
            on_progress(
                f"torch {torch.version}: only its build for CUDA is known here, which is several gigabytes"
                if taken is None
                else f"torch {taken[1].version}: the build for CPUs; --device cuda takes the other"
            )
    if taken is None:
        return packages, dataclasses.replace(declared, indexes=indexes, external=())
    packages, build = taken
    with_index = tuple(dict.fromkeys((*indexes, *torch_index)))
    return packages, dataclasses.replace(declared, indexes=with_index, external=(build,))


def _first_that_fits(
    asked: Dependencies, given: SolveConditions, builds: Sequence[External], *, output: Path
) -> tuple[tuple[Package, ...], External] | None:
    """The solution with the first of these builds that fits, if torch is needed at all."""
    for build in builds:
        pin = (f"{build.name}=={build.version}",)
        with_build = dataclasses.replace(given, external=(build,), constraints=pin)
        try:
            found = solve_for(asked, given=with_build, output=output)
        except ImageError:
            continue
        if any(one.name == build.name for one in found):
            return found, build
    return None


def _known_builds(declared: Declared) -> tuple[tuple[External, ...], tuple[str, ...]]:
    """The builds for CPUs, the newest first, and the indexes that have them."""
    data = tomllib.loads(read_text(packaged("images") / "lock.toml"))
    builds = sorted(externals(data), key=lambda one: Version(one.version), reverse=True)
    own = {one.version for one in declared.external}
    fitting = (build for build in builds if build.name == _TORCH and build.version not in own)
    return tuple(fitting), tuple(data["variants"]["cpu"].get("indexes", ()))
