"""``reprokit bisect``: find the commit that changed the numbers."""

from __future__ import annotations

from typing import Any

import click

from reprokit.cli.extensions import answer_of, feature_options
from reprokit.cli.help_pages import Command
from reprokit.cli.options import (
    examples,
    folder_options,
    json_option,
    project_of,
    request_of,
    run_options_with,
)
from reprokit.cli.output import print_answer
from reprokit.session import Session


@click.command(
    "bisect",
    cls=Command,
    common="good bad seed set json",
    short_help="Find the commit that changed a recipe's numbers.",
    epilog=examples(
        "reprokit bisect cartpole_baseline --good v1.0 --bad HEAD",
        "reprokit bisect pg --good v1.0 --bad HEAD --set training.n_epochs=2",
    ),
)
@click.argument("recipe")
@click.option("--good", metavar="COMMIT", help="A commit with the right numbers.")
@click.option("--bad", metavar="COMMIT", help="A later commit with different numbers.")
@click.option(
    "--ignore",
    type=click.Choice(["rounding"]),
    help="Pass over what twins show to be rounding alone; PyTorch, LightGBM, XGBoost; ten more runs.",
)
@feature_options("bisect")
@json_option()
@run_options_with(default_seed="the recipe's first")
@folder_options
def command(recipe: str, good: str | None, bad: str | None, as_json: bool, **options: Any) -> int:
    """Find the commit that changed the numbers, by running git bisect in a work tree of its own.

    The numbers of each commit are compared with those of the good commit. Commits that cannot run are
    skipped; commits that change nothing the recipe depends on are not trained again. With --ignore rounding
    a commit is good as long as its numbers differ from the good commit's by rounding alone.

    Exit codes: 0 one commit found; 4 several are left, or there is nothing to find; 3 the good or the bad
    commit cannot run.
    """
    asked = {**options, "recipe": recipe, "good": good, "bad": bad, "as_json": as_json}
    if (answered := answer_of("bisect", asked)) is not None:
        return answered
    if good is None or bad is None:
        raise click.UsageError(f"Missing option '{'--good' if good is None else '--bad'}'.")
    import dataclasses

    from reprokit.cli import show_report
    from reprokit.features.bisect.bisect import bisect
    from reprokit.features.bisect.page import page_lines

    request, project = request_of(options), project_of(options)
    with show_report.progress() as progress:
        found = bisect(
            recipe,
            good=good,
            bad=bad,
            request=request,
            session=Session(project=project, progress=progress),
            ignore_rounding=options["ignore"] is not None,
        )
    print_answer(page_lines(found), data=lambda: dataclasses.asdict(found), as_json=as_json)
    return 0 if len(found.guilty) == 1 else 4
