"""``reprokit image lock``: what people wrote, solved into hashes; what moves is said first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.options import examples

if TYPE_CHECKING:
    from reprokit.images.locks import Lock

_BASE = "base"


@click.command(
    "lock",
    short_help="Solve requirements.in into its lock, or check that they agree.",
    epilog=examples(
        "reprokit image lock cpu", "reprokit image lock --check   # every variant", "reprokit image lock base"
    ),
)
@click.argument("variants", nargs=-1, metavar="[VARIANT|base]…")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if input and lock disagree.")
@click.option("--json", "as_json", is_flag=True, help="Print what moves as a JSON object.")
def lock_packages(variants: tuple[str, ...], check: bool, as_json: bool) -> int:
    """Solve images/VARIANT/requirements.in into its lock, keeping every version that still fits.

    With no VARIANT: all of them. `base` pins the packages of the base that is made without a registry:
    what the distribution has today.

    Prints what moves. Exit codes: 0 nothing to do, or written; 1 with --check, something moves.
    """
    import json

    from reprokit.images.locks import project_around, read_lock

    lock = read_lock(project_around(Path.cwd()))
    named = variants or tuple(lock.variants)
    for name in named:
        if name != _BASE:
            lock.variant(name)  # a name that is none, before anything is written
    all_agree = True
    all_moved: list[str] = []
    for name in named:
        agrees, moved = _one(lock, name, check=check)
        all_agree = all_agree and agrees
        lines = moved if len(named) == 1 else tuple(f"{name}: {line}" for line in moved)
        all_moved += lines
        if not as_json:
            click.echo("".join(f"{line}\n" for line in lines), nl=False)
    if as_json:
        click.echo(json.dumps({"agrees": all_agree, "moved": all_moved}, indent=2))
    return 1 if check and not all_agree else 0


def _one(lock: Lock, name: str, *, check: bool) -> tuple[bool, tuple[str, ...]]:
    """Whether the lock agrees with what was solved, and what moves; written where it may be."""
    from reprokit.images.solve import solve_variant
    from reprokit.workspace import write_atomic

    if name == _BASE:
        return _base(lock, check=check)
    chosen = lock.variant(name)
    solution = solve_variant(lock, chosen)
    if solution.agrees:
        _say(f"{chosen.packages_path}: agrees with {chosen.input_path.name}")
    elif check:
        _say(f"{chosen.packages_path}: is not what {chosen.input_path.name} solves to")
    else:
        write_atomic(chosen.packages_path, solution.text.encode("utf-8"))
        _say(f"Written: {chosen.packages_path}")
    return solution.agrees, solution.moved


def _base(lock: Lock, *, check: bool) -> tuple[bool, tuple[str, ...]]:
    """Every base that a variant is built on: everybody's, and those with packages of their own."""
    import platform

    from reprokit.images import bootstrap, cache, debian_packages
    from reprokit.workspace import write_atomic

    machine, all_agree = platform.machine(), True
    all_moved: list[str] = []
    for based in {one.bootstrap.extra: one for one in map(lock.based_for, lock.variants.values())}.values():
        path = based.base_packages(machine)
        found = bootstrap.solve_base(based, machine=machine, cache=cache.cache_folder(None), on_progress=_say)
        before = debian_packages.read_base_lock(path) if path.is_file() else ()
        agrees = path.is_file() and path.read_text(encoding="utf-8") == debian_packages.lock_text(found)
        if agrees or check:
            _say(f"{path}: {'is' if agrees else 'is not'} what the distribution has today")
        else:
            path.parent.mkdir(exist_ok=True)
            write_atomic(path, debian_packages.lock_text(found).encode("utf-8"))
            _say(f"Written: {path}")
        all_agree = all_agree and agrees
        all_moved += debian_packages.moved(before, found)
    return all_agree, tuple(dict.fromkeys(all_moved))


def _say(line: str) -> None:
    click.echo(line, err=True)
