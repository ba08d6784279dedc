"""``reprokit verify --selftest-only``, once the verb ``selftest``: faults in copies of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import examples, folder_options, json_option, number_option, project_of
from reprokit.cli.output import fitted_lines, print_json
from reprokit.session import Session

if TYPE_CHECKING:
    from reprokit.project import Project

#: How many faults and clean copies where nothing else is said.
NUM_FAULTS, NUM_CLEAN = 1000, 100
EXISTING = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command(
    "selftest",
    cls=Command,
    common="faults clean seed only json",
    short_help="Plant faults in copies of runs; check that each is caught.",
    epilog=examples(
        "reprokit verify --selftest-only cartpole_baseline",
        "reprokit verify --selftest-only cartpole_baseline --faults 5000",
    ),
)
@click.argument("recipe", required=False)
@number_option("--faults", "num_faults", least=1, most=10**6, default=NUM_FAULTS, help="How many faults.")
@number_option("--clean", "num_clean", least=1, most=10**6, default=NUM_CLEAN, help="How many clean copies.")
@number_option("--seed", least=0, most=2**32 - 1, default=0, help="Seed that the faults are drawn from.")
@click.option("--only", metavar="ID", help="Plant only this fault, by the ID that was printed.")
@click.option(
    "--runs",
    "named",
    nargs=2,
    type=EXISTING,
    metavar="RUN RUN",
    help="Two runs to copy  [default: the newest pair].",
)
@json_option()
@folder_options
def command(recipe: str | None, named: tuple[Path, ...] | None, as_json: bool, **options: Any) -> int:
    """Plant faults in copies of runs and of their golden, judge each copy, and count the faults caught.

    Copied is the newest finished pair of RECIPE (default: the recipe of the newest run); if there is none,
    it is trained first. Runs and goldens are not changed.

    Exit codes: 0 every fault got its verdict and every clean copy REPRODUCED; 1 not; 4 these runs prove
    nothing about the gate.
    """
    return plant(recipe, named=named or (), as_json=as_json, project=project_of(options), **_drawn(options))


def _drawn(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("num_faults", "num_clean", "seed", "only")}


def plant(
    recipe: str | None,
    *,
    named: tuple[Path, ...],
    num_faults: int,
    num_clean: int,
    seed: int,
    only: str | None,
    as_json: bool,
    project: Project,
) -> int:
    """Plant faults in copies of runs, and print the score; returns its exit code."""
    from reprokit.cli import show_report
    from reprokit.features.selftest import score_lines as selftest_score
    from reprokit.features.selftest.samples import find
    from reprokit.features.selftest.score import run

    with show_report.progress() as progress:
        found = find(recipe, session=Session(project=project, progress=progress), named=named)
        score = run(
            found.samples,
            num_faults=num_faults,
            num_clean=num_clean,
            seed=seed,
            only=only,
            progress=progress,
        )
    score.notes[:0] = found.notes
    recipe = found.samples.recipe
    again = selftest_score.again("" if named else recipe, runs=map(str, named))
    if as_json:
        print_json(selftest_score.score_data(score, recipe=recipe, command=again))
    elif only:
        click.echo("\n".join(fitted_lines(selftest_score.one_fault_lines(score))))
    else:
        runs = f"Runs: {', '.join(run.name for run in found.samples.runs)} of {recipe}"
        click.echo("\n".join(fitted_lines([runs])))
        _print_kinds(selftest_score.kind_rows(score))
        ended = (*selftest_score.note_lines(score), *selftest_score.end_lines(score, command=again))
        click.echo("\n".join(fitted_lines(ended)))
    return score.exit_code


def _print_kinds(rows: Iterable[tuple[str, str, str, str]]) -> None:
    """A line for each kind of fault; the numbers are flush right."""
    from reprokit.reports.tables import aligned

    named = [("fault", "planted", "found", ""), *rows]
    numbers = aligned([row[:3] for row in named], num_left=1)
    for text, row in zip(numbers, named, strict=True):
        click.echo(f"{text}  {row[3]}".rstrip())
