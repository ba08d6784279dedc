"""A lock solved again: whether it agrees with what people wrote, and what moves; written where it may be.

>>> relock(read_lock(project), "cpu", write=False, on_progress=print)
Relocked(agrees=True, moved=())
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass

from reprokit.images import bootstrap, cache, debian_packages
from reprokit.images.cache import Progress
from reprokit.images.locks import Lock
from reprokit.images.solve import solve_variant
from reprokit.workspace import write_atomic

#: What is solved under this name are the packages of the base that is made without a registry.
BASE = "base"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocked:
    """What came of solving again.

    Attributes:
        agrees: Whether the lock was what its input solves to.
        moved: What moves, a line each.
    """

    agrees: bool
    moved: tuple[str, ...]


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
    """Solve a variant's ``requirements.in``, or the distribution's packages of every base.

    Args:
        lock: ``images/lock.toml``.
        name: A variant, or ``base``.
        write: Whether a lock that does not agree is written anew.
        on_progress: Called with one line for a person now and then.

    Raises:
        RecipeError: There is no such variant.
        ImageError: There is no solution, or the package index could not be reached.
    """
    if name == BASE:
        return _bases(lock, write=write, on_progress=on_progress)
    chosen = lock.variant(name)
    solution = solve_variant(lock, chosen)
    if solution.agrees:
        on_progress(f"{chosen.packages_path}: agrees with {chosen.input_path.name}")
    elif not write:
        on_progress(f"{chosen.packages_path}: is not what {chosen.input_path.name} solves to")
    else:
        write_atomic(chosen.packages_path, solution.text.encode("utf-8"))
        on_progress(f"Written: {chosen.packages_path}")
    return Relocked(agrees=solution.agrees, moved=solution.moved)


def _bases(lock: Lock, *, write: bool, on_progress: Progress) -> Relocked:
    """Every base that a variant is built on: everybody's, and those with packages of their own."""
    machine, all_agree = platform.machine(), True
    all_moved: list[str] = []
    for based in {one.bootstrap.extra: one for one in map(lock.based_for, lock.variants.values())}.values():
        path = based.base_packages(machine)
        found = bootstrap.solve_base(
            based, machine=machine, cache=cache.cache_folder(None), on_progress=on_progress
        )
        before = debian_packages.read_base_lock(path) if path.is_file() else ()
        agrees = path.is_file() and path.read_text(encoding="utf-8") == debian_packages.lock_text(found)
        if agrees or not write:
            on_progress(f"{path}: {'is' if agrees else 'is not'} what the distribution has today")
        else:
            path.parent.mkdir(exist_ok=True)
            write_atomic(path, debian_packages.lock_text(found).encode("utf-8"))
            on_progress(f"Written: {path}")
        all_agree = all_agree and agrees
        all_moved += debian_packages.moved(before, found)
    return Relocked(agrees=all_agree, moved=tuple(dict.fromkeys(all_moved)))
