"""``reprokit env numerics``: how operations round on this CPU and on others, and whether they repeat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.help_pages import Group, Option, Title, titled
from reprokit.cli.options import backend_option, base_option, examples, json_option, number_option, project_of
from reprokit.cli.output import print_answer, print_json
from reprokit.session import Session


@click.group(
    "numerics",
    cls=Group,
    short_help="Show how operations round here; find non-portable ones.",
    epilog=examples("reprokit env numerics check", "reprokit env numerics claims"),
)
def command() -> None:
    """Compare the bits of results, operation by operation, between machines and environments."""


@command.command(
    "check",
    epilog=examples(
        "reprokit env numerics check --json > mine.json",
        "reprokit env numerics check --compare mine.json   # on another machine",
        "reprokit env numerics check --compare mine.json --cpu EPYC",
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
    from reprokit.features.numerics import rounding_table
    from reprokit.features.numerics.rounding import RoundingCheck, read_probe
    from reprokit.features.numerics.rounding import check as check_rounding

    theirs = read_probe(other) if other is not None else None
    wanted = RoundingCheck(base=base, **options)
    with show_report.progress() as progress:
        found = check_rounding(wanted, session=Session(project=project_of({}), progress=progress))
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


@command.command(
    "claims",
    common="device repeats only table json",
    epilog=examples(
        "reprokit env numerics claims --only 'index_*'",
        "reprokit env numerics claims --device cuda --json > findings.json",
        "reprokit env numerics claims --table numerics-claims.md",
        "reprokit env numerics claims --findings theirs.json --table PAGE.md",
    ),
)
@click.option(
    "--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="What computes."
)
@titled(
    Title.RUNS,
    click.option("--variant", metavar="NAME", help="The pinned environment  [default: as the device]."),
    click.option(
        "--compiled/--no-compiled", default=True, help="Repeat some under torch.compile too  [default: yes]."
    ),
)
@number_option(
    "--repeats",
    "num_repeats",
    least=2,
    default=30,
    help="How often each operation runs on the same inputs.",
)
@click.option("--only", default="*", metavar="PATTERN", help="Operations with such names, as 'index_*'.")
@backend_option(help="Container, virtual environment from the same lock, or whichever is available.")
@base_option()
@click.option(
    "--findings",
    cls=Option,
    formerly="--from",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Measure nothing; take the findings of another machine from a file.",
)
@click.option(
    "--table",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PAGE",
    help="Keep the findings in the folder named like PAGE, and draw PAGE from all that are there; those of "
    "fewer repeats or operations replace none.",
)
@json_option("Print JSON.")
def check_claims(findings: Path | None, table: Path | None, *, as_json: bool, **options: Any) -> int:
    """Compare what PyTorch claims about determinism with repeats, operation by operation.

    Each operation runs N times with deterministic algorithms off, on, and on with warn_only; outputs and
    gradients are compared bit by bit. No difference found is no proof: 30 repeats bound the chance of
    another result at 9.8 % per repeat, with 95 % confidence.

    What is found is kept in the cache, what --findings brings too: a recipe that calls an operation whose
    claim is false where it runs is warned before it runs.

    Exit codes: 0 no claim is false here; 1 one is; 2 --table would lose findings; 3 it could not be measured.
    """
    from reprokit.cli import show_report
    from reprokit.core import determinism_claims
    from reprokit.features.numerics import determinism_claims_page
    from reprokit.features.numerics.determinism_claims import (
        ClaimsCheck,
        draw_page,
        measure_claims,
        take_findings,
    )

    if findings is not None:
        found = take_findings(findings)
    else:
        wanted = ClaimsCheck(**options)
        with show_report.progress() as progress:
            found = measure_claims(wanted, session=Session(project=project_of({}), progress=progress))
    print_answer(determinism_claims_page.page_lines(found), data=lambda: found, as_json=as_json)
    if table is not None:  # last: what took minutes to measure is shown where it cannot be kept there
        kept = draw_page(table, found=found)
        click.echo(f"kept in {kept}, drawn in {table}", err=True)
    if determinism_claims.is_any_false(found["rows"]):
        return 1
    if not determinism_claims.is_any_measured(found["rows"]):
        click.echo("no claim was measured: none of these operations could be run", err=True)
        return 3
    return 0
