"""``reprokit image lock``: lock an environment, of files of a project or again from its input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.commands.image import lock_around, print_progress
from reprokit.cli.help_pages import Command, Option, titled
from reprokit.cli.options import examples, json_option
from reprokit.cli.output import print_json


@click.command(
    "lock",
    cls=Command,
    common="dependencies python device check json",
    short_help="Lock an environment: of your project's files, or again from its input.",
    epilog=examples(
        "reprokit image lock mine --dependencies requirements.txt",
        "reprokit image lock mine --dependencies pyproject.toml --extra train",
        "reprokit image lock cpu",
        "reprokit image lock --check   # every variant",
        "reprokit image lock base",
    ),
)
@click.argument("variants", nargs=-1, metavar="[NAME|base]…")
@click.option(
    "--dependencies",
    "sources",
    cls=Option,
    formerly="--from",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="What NAME is made from: requirements*.txt, uv.lock, pylock.toml, pyproject.toml, poetry.lock, "
    "environment.yml or pixi.toml. Several are taken together.",
)
@click.option(
    "--python",
    metavar="3.N",
    help="Its Python  [default: what .python-version says, else the lowest from 3.11 that FILE allows].",
)
@click.option("--fetch-python", is_flag=True, help="Let uv fetch that Python where this host has none.")
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda", "tpu"]),
    help="What it is for  [default: cpu]; decides which build of torch.",
)
@titled(
    "More of the project",
    click.option(
        "--extra", "extras", multiple=True, metavar="EXTRA", help="Include this extra of the project."
    ),
    click.option("--group", "groups", multiple=True, metavar="GROUP", help="Include this dependency group."),
)
@titled(
    "What its image is",
    click.option(
        "--system",
        "system_packages",
        multiple=True,
        metavar="PACKAGE[=VERSION]",
        help="A package of the distribution that its image needs; pinned as of today.",
    ),
    click.option(
        "--build",
        multiple=True,
        metavar="PACKAGE==VERSION",
        help="Build a wheel of a package that is distributed as source only, and keep it next to the lock.",
    ),
    click.option("--base-image", metavar="IMAGE:TAG@DIGEST", help="Build on this image of a registry."),
    click.option(
        "--machine", type=click.Choice(["x86_64", "aarch64"]), help="Lock for this kind of machine."
    ),
)
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if the lock is out of date.")
@json_option("Print the changes as a JSON object.")
def lock_packages(
    variants: tuple[str, ...],
    sources: tuple[Path, ...],
    check: bool,
    fetch_python: bool,
    as_json: bool,
    **choice: Any,
) -> int:
    """Lock the environment images/NAME, keeping every version that still fits. Prints what changes.

    With --dependencies, make it from files of your project. Without, solve it again from the same files, or
    from its requirements.in; without NAME, all of them. `base` pins the distribution packages of the bases
    that are made without a registry, as of today.

    Exit codes: 0 nothing to do, or written; 1 with --check, something changes; 3 something cannot be pinned.
    """
    from reprokit.features.locking import own_variants, relock

    picked = own_variants.VariantChoice(**{key: value or None for key, value in choice.items()})
    if sources or picked != own_variants.VariantChoice():
        if len(variants) != 1:
            raise click.UsageError("--dependencies and what belongs to it need the NAME of one environment")
        found = own_variants.lock_from(
            variants[0],
            sources,
            project=_root(),
            choice=picked,
            write=not check,
            on_progress=print_progress,
        )
        print_progress(f"Python {found.python}")
        if fetch_python:
            _fetch(variants[0], project=_root())
    else:
        found = relock.relock_all(lock_around(), variants, write=not check, on_progress=print_progress)
    if as_json:
        print_json({"agrees": found.agrees, "moved": found.moved})
    else:
        click.echo("".join(f"{line}\n" for line in found.moved), nl=False)
    return 1 if check and not found.agrees else 0


def _fetch(name: str, *, project: Path) -> None:
    """Have the interpreter of an environment on this host."""
    from reprokit.images import interpreters, locks

    python = locks.read_lock(project).variant(name).python
    interpreters.find_interpreter(python, fetch=True, on_progress=print_progress)


def _root() -> Path:
    """The project around the working directory, with or without environments yet."""
    from reprokit.errors import ImageError
    from reprokit.images import locks
    from reprokit.project import Project

    try:
        return locks.project_around(Path.cwd())
    except ImageError:
        return Project.around(Path.cwd()).root
