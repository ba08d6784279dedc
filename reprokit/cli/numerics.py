"""``reprokit numerics``: how operations round on this CPU and on others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.options import backend_option, base_option, examples, json_option, project_of
from reprokit.cli.output import print_json


@click.group(
    "numerics",
    short_help="Show how operations round here; find non-portable ones.",
    epilog=examples("reprokit numerics check"),
)
def command() -> None:
    """Compare the bits of results, operation by operation, between machines and environments."""


@command.command(
    "check",
    epilog=examples(
        "reprokit numerics check --json > mine.json",
        "reprokit numerics check --compare mine.json   # on another machine",
        "reprokit numerics check --compare mine.json --cpu EPYC",
    ),
)
@click.option("--variant", default="cpu", show_default=True, metavar="NAME", help="The pinned environment.")
@click.option(
    "--profile",
    type=click.Choice(["portable", "native"]),
    default="portable",
    show_default=True,
    help="The numerics profile to set.",
)
@backend_option(help="Container, virtual environment from the same lock, or whichever is available.")
@base_option()
@click.option("--cpu", metavar="MODEL", help="Emulate this CPU (`qemu-x86_64 -cpu help` lists them).")
@click.option(
    "--compare",
    "other",
    type=click.Path(exists=True, path_type=Path),
    metavar="OTHER",
    help="Compare with a file from --json, a run folder or a golden.",
)
@json_option("Print JSON.")
def check(other: Path | None, *, as_json: bool, base: str, **options: Any) -> int:
    """Run every operation that training uses on fixed inputs and print a digest of each result.

    Two machines with the same digests round these operations alike.

    Exit codes with --compare: 0 all equal; 1 an operation rounds differently; 4 nothing, or not every
    operation, could be compared.
    """
    from reprokit.cli import show_report
    from reprokit.core import rounding
    from reprokit.harness import portability
    from reprokit.reports import rounding_table

    theirs = portability.read_probe(other) if other is not None else None
    wanted = portability.RoundingCheck(base=base, **options)
    with show_report.progress() as progress:
        found = portability.check_rounding(wanted, project=project_of({}), progress=progress)
    compared = rounding.compare(theirs, found["probe"]) if theirs is not None else None
    if as_json:
        print_json(rounding_table.to_data(found, compared=compared))
    else:
        for line in rounding_table.warning_lines(found):
            click.echo(line, err=True)
        click.echo("\n".join(rounding_table.page_lines(found, compared=compared, theirs=theirs)))
    if compared is None:
        return 0
    if compared.differing:
        return 1
    return 4 if compared.because or compared.only_one else 0
