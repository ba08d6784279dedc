"""The base of an environment's image moved to what has its Python, where that was changed on purpose."""

from __future__ import annotations

import platform
import re
import shutil
from pathlib import Path

from reprokit.features.locking.own_base import OFFICIAL, digest_in_registry
from reprokit.images import cache
from reprokit.images.building import bootstrap, debian_packages
from reprokit.images.building.suites import SUITE_OF_PYTHON, USUAL_SUITE
from reprokit.images.cache import Progress
from reprokit.images.locks import Lock, Variant, read_lock
from reprokit.packaged import packaged
from reprokit.workspace import write_atomic


def move_base(name: str, *, project: Path, on_progress: Progress) -> None:
    """Let the files of a project name a base that has the Python of an environment: a release, or an image.

    The base of a Python that there is none of stays: whoever builds an image is told so.

    Raises:
        ImageError: The packages of that release cannot be pinned.
    """
    lock, variant = _based(name, project)
    suite = SUITE_OF_PYTHON.get(variant.python, lock.bootstrap.suite)
    moved = _with_line(lock.path.read_text("utf-8"), "base.bootstrap", "suite", suite)
    registry, tag = lock.registry, f"{variant.python}-slim-{USUAL_SUITE}"
    is_other = registry.image == OFFICIAL and not registry.tag.startswith(f"{variant.python}-")
    if digest := digest_in_registry(f"{registry.image}:{tag}") if is_other else "":
        moved = _with_line(moved, "base.registry", "tag", tag)
        moved = _with_line(moved, "base.registry", "digest", digest)
    write_atomic(lock.path, moved.encode("utf-8"))
    if suite != lock.bootstrap.suite:
        lock, variant = _based(name, project)
        for machine in variant.machines:
            _bring_packages(lock, machine, on_progress=on_progress)


def _based(name: str, project: Path) -> tuple[Lock, Variant]:
    lock = read_lock(project)
    variant = lock.variant(name)
    return lock.based_for(variant), variant


def _bring_packages(lock: Lock, machine: str, *, on_progress: Progress) -> None:
    """The packages of the release: those that the tool brings, else today's."""
    suite, pinned = lock.bootstrap.suite, lock.base_packages(machine)
    template = packaged("images") / "base" / ("" if suite == USUAL_SUITE else suite) / pinned.name
    pinned.unlink(missing_ok=True)
    if template.is_file():
        pinned.parent.mkdir(exist_ok=True)
        shutil.copyfile(template, pinned)
    elif machine == platform.machine():
        on_progress(f"pinning the distribution's packages: {suite}")
        found = bootstrap.solve_base(
            lock, machine=machine, cache=cache.cache_folder(None), on_progress=on_progress
        )
        pinned.write_text(debian_packages.lock_text(found), encoding="utf-8")


def _with_line(text: str, section: str, key: str, value: str) -> str:
    """A TOML text with another value of a key of a section, which has it."""
    pattern = rf'(?ms)(^\[{re.escape(section)}\]$(?:(?!^\[).)*?^{key} = )"[^"]*"'
    return re.sub(pattern, lambda found: f'{found[1]}"{value}"', text, count=1)
