"""Solves locks again: do they agree with ``requirements.in``, and which versions change?"""

from __future__ import annotations

import platform
from collections.abc import Sequence

from reprokit.features.locking.own_variants import Relocked, lock_again
from reprokit.features.locking.solve import solve_variant
from reprokit.images import cache
from reprokit.images.building import bootstrap, debian_packages
from reprokit.images.cache import Progress
from reprokit.images.locks import Lock
from reprokit.workspace import write_atomic

#: The name under which the packages of the bases without a registry are solved.
BASE = "base"


def relock_all(lock: Lock, names: Sequence[str], *, write: bool, on_progress: Progress) -> Relocked:
    """Solve several again, all variants where none is named; of several, each line says whose it is.

    Raises:
        RecipeError: There is no such variant; nothing was written.
        ImageError: There is no solution, or the package index could not be reached.
    """
    named = names or tuple(lock.variants)
    for name in named:
        if name != BASE:
            lock.variant(name)
    agrees, moved = True, list[str]()
    for name in named:
        found = relock(lock, name, write=write, on_progress=on_progress)
        agrees = agrees and found.agrees
        moved += found.moved if len(named) == 1 else [f"{name}: {line}" for line in found.moved]
    return Relocked(agrees=agrees, moved=tuple(moved))


def relock(lock: Lock, name: str, *, write: bool, on_progress: Progress) -> Relocked:
    """Solve a variant's ``requirements.in``, or with the name ``base`` the packages of every base."""
    if name == BASE:
        return _bases(lock, write=write, on_progress=on_progress)
    chosen = lock.variant(name)
    if chosen.own is not None:
        return lock_again(lock.root, chosen, write=write, on_progress=on_progress)
    solution = solve_variant(lock, chosen)
    if solution.agrees:
        on_progress(f"{chosen.packages_path}: agrees with {chosen.input_path.name}")
    elif not write:
        on_progress(f"{chosen.packages_path}: differs from what {chosen.input_path.name} solves to")
    else:
        write_atomic(chosen.packages_path, solution.text.encode("utf-8"))
        on_progress(f"Written: {chosen.packages_path}")
    return Relocked(agrees=solution.agrees, moved=solution.moved)


def _bases(lock: Lock, *, write: bool, on_progress: Progress) -> Relocked:
    """Every base that a variant is built on: everybody's, and those with packages of their own."""
    machine, all_agree = platform.machine(), True
    all_moved: list[str] = []
    by_place = {one.base_packages(machine): one for one in map(lock.based_for, lock.variants.values())}
    for based in by_place.values():
        path = based.base_packages(machine)
        folder = cache.cache_folder(None)
        found = bootstrap.solve_base(based, machine=machine, cache=folder, on_progress=on_progress)
        before = debian_packages.read_base_lock(path) if path.is_file() else ()
        agrees = path.is_file() and path.read_text(encoding="utf-8") == debian_packages.lock_text(found)
        if agrees or not write:
            on_progress(
                f"{path}: {'matches' if agrees else 'differs from'} the distribution's current packages"
            )
        else:
            path.parent.mkdir(exist_ok=True)
            write_atomic(path, debian_packages.lock_text(found).encode("utf-8"))
            on_progress(f"Written: {path}")
        all_agree = all_agree and agrees
        all_moved += debian_packages.moved(before, found)
    return Relocked(agrees=all_agree, moved=tuple(dict.fromkeys(all_moved)))
