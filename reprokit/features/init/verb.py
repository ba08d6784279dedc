"""``reprokit init``: a recipe for a program that has none."""

from __future__ import annotations

import functools
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from reprokit.cli.options import (
    RecipeOrCommand,
    examples,
    json_option,
    plain_command,
)
from reprokit.session import Session


@click.command(
    "init",
    cls=RecipeOrCommand,
    short_help="Write a recipe for a program, from what it does.",
    epilog=examples(
        "reprokit init -- python train.py --seed {seed} --out {run_dir}",
        "reprokit init --yes              # look for the program, take what is proven",
        "reprokit init --dry-run -- python train.py",
        "reprokit init --yes --python 3.10 -- python train.py",
        "reprokit init --same-under --name train    # what does not matter?",
    ),
)
@click.argument("before", nargs=-1, metavar="[-- COMMAND…]")
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--dry-run", is_flag=True, help="Only show what would be written.")
@click.option("--name", help="The recipe's name  [default: that of the program].")
@click.option(
    "--python",
    metavar="3.N",
    help="The program's Python  [default: what .python-version says, else the one that the command starts].",
)
@click.option("--fetch-python", is_flag=True, help="Let uv fetch that Python where this host has none.")
@click.option(
    "--variant",
    type=click.Choice(["none"]),
    help="Lock nothing: run in the Python that the command starts, which nothing pins.",
)
@click.option(
    "--same-under",
    is_flag=True,
    help="Also try what usually does not matter, a run each (worker counts, threads, accumulation, "
    "compilation, as far as the program has them), and write what held as `same_under`.",
)
@json_option()
def command(
    *,
    before: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    name: str | None,
    python: str | None,
    fetch_python: bool,
    variant: str | None,
    same_under: bool,
    as_json: bool,
) -> int:
    """Write a recipe for the command after --, or for the program that is found here.

    The program's dependencies are locked into an environment of its own, and it is run in it three times, in
    a copy of the project: twice with one seed and once with another. What is proposed is what was seen.
    """
    from reprokit.cli import show_report
    from reprokit.features.init.trial import PythonAsked
    from reprokit.features.init.write_recipe import propose, write
    from reprokit.project import Project

    words = plain_command()
    if before:
        line = " ".join((*before, *(words or ())))
        raise click.UsageError(f"put -- before the command: reprokit init -- {line}")
    if words == ():
        raise click.UsageError("nothing follows --: give a command, such as -- python train.py")
    if not (yes or dry_run or sys.stdin.isatty()):
        raise click.UsageError("no one can be asked here: pass --yes to write, or --dry-run to look")
    project = Project.around(Path.cwd())
    with show_report.progress() as progress:
        asked = PythonAsked(version=python, fetch=fetch_python, is_locked=variant is None)
        session = Session(project=project, progress=progress)
        how: dict[str, Any] = {"name": name, "python": asked, "same_under": same_under}
        if sys.stdin.isatty() and not yes:
            how["agrees"] = functools.partial(click.confirm, default=True, err=True)
        proposal = propose(words or (), **how, session=session)
    if as_json:
        click.echo(json.dumps(proposal.as_data(), indent=2))
    else:
        # In a pipe what is written need not be printed, too.
        _show(proposal, whole=dry_run or sys.stdout.isatty())
    try:
        agreed = (
            proposal.changed and not dry_run and (yes or click.confirm("Write these files?", default=True))
        )
    except click.Abort:  # the cursor is behind the question
        click.echo("\nNothing was written.", err=True)
        return 130
    if agreed:
        for path in write(proposal, project=project):
            click.echo(f"Written: {path.relative_to(project.root)}", err=True)
    steps = proposal.next_commands
    if proposal.changed and not agreed:
        click.echo("Nothing was written.", err=True)
        given = {"--name": name, "--python": python, "--variant": variant}
        flags = {"--fetch-python": fetch_python, "--same-under": same_under}
        steps = (_line_that_writes(words or (), given, flags), *steps)
    return _show_next(proposal, steps, as_json=as_json)


def _line_that_writes(
    words: Sequence[str], given: Mapping[str, str | None], flags: Mapping[str, bool]
) -> str:
    options = [word for option, value in given.items() if value for word in (option, value)]
    options += [option for option, is_set in flags.items() if is_set]
    return shlex.join(["reprokit", "init", "--yes", *options, *(["--", *words] if words else [])])


def _show_next(proposal: Any, steps: Sequence[str], *, as_json: bool) -> int:
    """What a person types next; the exit code."""
    if proposal.problem:
        told = f"{proposal.problem[:1].upper()}{proposal.problem[1:]}"
        click.echo("\n".join([f"\n{told} (exit code 1)", *(f"Next: {line}" for line in steps)]), err=True)
        return 1
    if not as_json:
        click.echo("\n".join(["", "next:", *(f"  {line}" for line in steps)]))
    return 0


def _show(proposal: Any, *, whole: bool) -> None:
    from reprokit.reports.tables import folded

    for what, sentence in proposal.found.items():
        click.echo(folded(f"{what:<12} {sentence}", indent=13))
    if not whole:
        return
    recipe = proposal.files.get(f"recipes/{proposal.name}/recipe.yaml")
    if recipe is not None:
        click.echo(f"\nrecipes/{proposal.name}/recipe.yaml:")
        for line in recipe.decode().splitlines():
            # A pattern that is wrapped cannot be copied.
            click.echo(f"  {line}" if line.startswith("printed:") else folded(f"  {line}", indent=6))
    others = sorted(set(proposal.files) - {f"recipes/{proposal.name}/recipe.yaml"})
    if others:
        more = f" and {len(others) - 6} more" if others[6:] else ""
        click.echo(folded(f"and {', '.join(others[:6])}{more}", indent=4))
