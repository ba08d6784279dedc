"""``reprokit stats``: results over seeds, with intervals and what they are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.html_page import html_option, write_page
from reprokit.cli.options import (
    examples,
    folder_options,
    json_option,
    number_option,
    project_of,
    verbose_option,
)
from reprokit.cli.output import print_answer


@click.command(
    "stats",
    short_help="Estimate results over seeds, with intervals.",
    epilog=examples(
        "reprokit stats cartpole_multiseed",
        "reprokit stats cartpole_baseline cartpole_tuned --metric 'eval/*'",
        "reprokit stats cartpole_multiseed --window first_step_at_least_475",
        "reprokit stats cartpole_multiseed --metric 'eval/*' --html seeds.html",
    ),
)
@click.argument("targets", nargs=-1, required=True, metavar="RECIPE|SWEEP…")
@click.option("--metric", "metrics", multiple=True, metavar="PATTERN", help="Only metrics such as 'eval/*'.")
@click.option(
    "--window",
    "windows",
    multiple=True,
    metavar="NAME",
    help="last, mean_last_N, best_high, best_low, auc, auc_mean, first_step_at_least_X or …_at_most_X.",
)
@click.option("--like", metavar="RUN", help="Only runs on the inputs of RUN  [default: the newest].")
@number_option(
    "--bootstrap-seed", least=0, default=0, help="Seed of the bootstrap: same seed, same interval."
)
@html_option
@json_option("Print everything as JSON, with every seed's value and the curves.")
@verbose_option
@folder_options
def command(
    targets: tuple[str, ...],
    metrics: tuple[str, ...],
    windows: tuple[str, ...],
    like: str | None,
    bootstrap_seed: int,
    as_json: bool,
    verbose: bool,
    html: Path | None,
    **options: Any,
) -> int:
    """Estimate the metrics of all finished runs of RECIPE, or of a sweep's folder, over their seeds.

    Only runs on the same inputs count; the others are listed. Of several recipes, each is compared with the
    first. Exit codes: 0; 2 wrong usage; 4 no finished run, or two runs of one seed differ.
    """
    from reprokit.harness import stats
    from reprokit.reports import statistics_html, statistics_page

    project = project_of(options)
    found = stats.statistics(
        targets,
        project=project,
        windows=windows or (stats.ALL_WINDOWS if as_json or verbose else stats.SHOWN_WINDOWS),
        metrics=metrics,
        like=like,
        bootstrap_seed=bootstrap_seed,
    )
    if html:
        goldens = stats.goldens_of(found, project=project)
        write_page(statistics_html.statistics_to_html(found, goldens), path=html)
    lines = () if as_json else statistics_page.page_lines(found, verbose=verbose)
    print_answer(lines, data=lambda: statistics_page.to_data(found), as_json=as_json)
    return 0
