"""``reprokit selftest``: the gate proves itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from reprokit.cli.options import examples, folder_options, project_of

_EXISTING = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command(
    "selftest",
    short_help="Plant faults in copies of runs; each must lead to its verdict.",
    epilog=examples(
        "reprokit selftest cartpole_baseline",
        "reprokit selftest cartpole_baseline --faults 5000 --clean 1000",
        "reprokit selftest --runs RUN RUN --only flipped-bit/run-1/sealed/0",
    ),
)
@click.argument("recipe", required=False)
@click.option(
    "--faults",
    "num_faults",
    type=click.IntRange(0, 10**6),
    default=1000,
    show_default=True,
    metavar="N",
    help="How many faults.",
)
@click.option(
    "--clean",
    "num_clean",
    type=click.IntRange(0, 10**6),
    default=100,
    show_default=True,
    metavar="N",
    help="How many copies without one.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="S",
    help="What the faults follow from.",
)
@click.option("--only", metavar="ID", help="Plant one fault again, by the ID that was printed.")
@click.option(
    "--runs",
    "named",
    nargs=2,
    type=_EXISTING,
    metavar="RUN RUN",
    help="Two runs to copy  [default: the newest pair].",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@folder_options
def command(recipe: str | None, named: tuple[Path, ...] | None, as_json: bool, **options: Any) -> int:
    """Plant faults in copies of real runs and of their golden, judge each, and count.

    The copies are those of the newest finished pair of RECIPE (of the newest run's recipe when left
    out); without one, it is trained first. No run and no golden is changed.

    Exit codes: 0 every fault led to its verdict and every clean copy to REPRODUCED; 1 something was
    missed; 4 these runs prove nothing about the gate.
    """
    import json

    from reprokit.cli import show_report
    from reprokit.harness import selftest
    from reprokit.reports import selftest_score

    project = project_of(options)
    with show_report.progress() as progress:
        found = selftest.find(recipe, project=project, progress=progress, named=named or ())
        score = selftest.run(
            found.samples,
            num_faults=options["num_faults"],
            num_clean=options["num_clean"],
            seed=options["seed"],
            only=options["only"],
            progress=progress,
        )
    score.notes[:0] = found.notes
    where = ["--runs", *map(str, named)] if named else [found.samples.recipe]
    again = ["reprokit", "selftest", *where]
    if as_json:
        answer = selftest_score.score_data(score, recipe=found.samples.recipe, command=again)
        click.echo(json.dumps(answer, indent=2))
    elif options["only"]:
        click.echo("\n".join(selftest_score.one_fault_lines(score)))
    else:
        click.echo(f"Runs: {', '.join(run.name for run in found.samples.runs)} of {found.samples.recipe}")
        _print_kinds(selftest_score.kind_rows(score))
        for line in (*selftest_score.note_lines(score), *selftest_score.end_lines(score, command=again)):
            click.echo(line)
    return score.exit_code


def _print_kinds(rows: Iterable[tuple[str, str, str, str]]) -> None:
    """A line a kind of fault, as wide as the terminal."""
    import sys

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for name, justify in (("fault", "left"), ("planted", "right"), ("found", "right"), ("", "left")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else 100
    Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False).print(table)
