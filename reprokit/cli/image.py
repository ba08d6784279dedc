"""``reprokit image``: the pinned environments, built, listed and locked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.options import examples

if TYPE_CHECKING:
    from reprokit.images.inventory import Row


@click.group(
    "image",
    short_help="Build, list and lock the pinned environments.",
    epilog=examples("reprokit image build cpu"),
)
def command() -> None:
    """Environments under images/: one lock each, realised as a container image or virtual environment."""


@command.command(
    "build", epilog=examples("reprokit image build cpu", "reprokit image build cpu --base bootstrap")
)
@click.argument("variant", default="cpu")
@click.option(
    "--base", type=click.Choice(["auto", "registry", "bootstrap"]), default="auto", show_default=True,
    help="The digest-pinned image of a registry, or an equivalent one from distribution packages.",
)  # fmt: skip
@click.option("--venv", "as_venv", is_flag=True, help="Make the virtual environment of the same lock.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def build_image(variant: str, base: str, as_venv: bool, as_json: bool) -> int:
    """Make a variant's environment, or say where it is.

    Wheels are fetched and checked against the lock on this host; the build itself has no network.
    What is there already is found by its content, in well under a second.
    """
    import json

    from reprokit import images
    from reprokit.core.records import to_json

    realisation = images.resolve(
        variant,
        project=_project(),
        kind="venv" if as_venv else "image",
        base=base,
        on_progress=lambda line: click.echo(line, err=True),
    )
    click.echo(json.dumps(to_json(realisation), indent=2) if as_json else realisation.reference)
    return 0


@command.command("list", epilog=examples("reprokit image list --json"))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_images(as_json: bool) -> int:
    """List the environments that are there; `*` marks those that this project would use today."""
    import json
    from dataclasses import asdict

    from reprokit.images.inventory import inventory

    rows = inventory(_project(), cache_dir=None)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
    elif not rows:
        click.echo("none yet; `reprokit image build cpu` makes one", err=True)
    else:
        click.echo("\n".join(map(_line, rows)))
    return 0


@command.command("lock", epilog=examples("reprokit image lock cpu", "reprokit image lock cpu --check"))
@click.argument("variant")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if input and lock disagree.")
@click.option("--json", "as_json", is_flag=True, help="Print what moves as a JSON object.")
def lock_packages(variant: str, check: bool, as_json: bool) -> int:
    """Solve images/VARIANT/requirements.in into its lock, keeping every version that still fits.

    Prints what moves. Exit codes: 0 nothing to do, or written; 1 with --check, something moves.
    """
    import json

    from reprokit.images.locks import read_lock
    from reprokit.images.solve import solve_variant
    from reprokit.workspace import write_atomic

    lock = read_lock(_project())
    chosen = lock.variant(variant)
    solution = solve_variant(lock, chosen)
    if as_json:
        click.echo(json.dumps({"agrees": solution.agrees, "moved": list(solution.moved)}, indent=2))
    else:
        click.echo("".join(f"{line}\n" for line in solution.moved), nl=False)
    if solution.agrees:
        click.echo(f"{chosen.packages_path}: agrees with {chosen.input_path.name}", err=True)
        return 0
    if check:
        click.echo(f"{chosen.packages_path}: is not what {chosen.input_path.name} solves to", err=True)
        return 1
    write_atomic(chosen.packages_path, solution.text.encode("utf-8"))
    click.echo(f"Written: {chosen.packages_path}", err=True)
    return 0


def _project() -> Path:
    from reprokit.images.locks import project_around

    return project_around(Path.cwd())


def _line(row: Row) -> str:
    size = f"{row.size_bytes / 1e9:.2f} GB" if row.size_bytes else "-"
    mark = "*" if row.current else " "
    return (
        f"{mark} {row.variant:<6} {row.kind:<6} {size:>9}  {row.reference}"
        f"  lock {row.lock_digest[7:19]}  {row.base or ''}".rstrip()
    )
