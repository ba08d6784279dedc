"""``reprokit sweep`` and ``reprokit stats``: runs over seeds and settings, and what they are worth."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.extensions import asked_of_features, feature_options
from reprokit.cli.help_pages import Command, Option, Title, titled
from reprokit.cli.html_page import html_option, write_page
from reprokit.cli.options import (
    backend_option,
    base_option,
    engine_option,
    examples,
    folder_options,
    json_option,
    number_option,
    platform_option,
    project_of,
    request_of,
    runs_dir_option,
    shown_words,
    timeout_option,
    verbose_option,
)
from reprokit.cli.output import print_answer

if TYPE_CHECKING:
    from reprokit.harness import Sweep
    from reprokit.project import Project

_member_options = titled(
    Title.RUNS,
    click.option(
        "--seeds",
        metavar="SEEDS",
        help="Seeds (42,123), a range with both ends (0..9), or how many (5)  [default: the recipe's].",
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="PATH=VALUE,VALUE",
        help="Values of a setting; several --set make a grid.",
    ),
    click.option(
        "--args",
        "arguments",
        multiple=True,
        metavar="WORDS",
        help="Words for the recipe's command; each --args is a setting.",
    ),
    platform_option,
)


@click.command(
    "sweep",
    cls=Command,
    common="seeds set args jobs dry-run json",
    short_help="Run recipes over seeds and settings, each run once.",
    epilog=examples(
        "reprokit sweep cartpole_baseline --seeds 42,123,456,789,1024",
        "reprokit sweep cartpole_baseline cartpole_dqn --seeds 5",
        "reprokit sweep cartpole_baseline --set training.gamma=0.98,0.99 --dry-run",
        "reprokit sweep train --seeds 5 --args '--lr 0.05' --args '--lr 0.2'",
        "reprokit sweep cartpole_baseline --seeds 5 --on slurm --slurm partition=cpu",
    ),
)
@click.argument("recipes", nargs=-1, required=True, metavar="RECIPE…")
@_member_options
@number_option("--jobs", least=1, help="Members side by side  [default: a core each].")
@feature_options("sweep")
@click.option("--dry-run", is_flag=True, help="List what would be run, used again or tried again.")
@html_option
@json_option("Print the members as a JSON object.")
@backend_option(metavar="BACKEND", help="docker, local (virtual environment from the same lock) or auto.")
@base_option(metavar="BASE", help="What the image is built on: registry, bootstrap or auto.")
@timeout_option()
@engine_option
@runs_dir_option
def sweep(recipes: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Run every RECIPE with every seed and combination of settings, each in a run folder of its own.

    A member is finished where its run is complete, unmodified, and of the same code, settings, seed and
    environment; it is not run again. The same command continues where it was stopped. A member that
    crashed is a row that says so; the next call tries it again.

    --seeds 5 takes the first five that the recipe declares, and counts on from the largest if it declares
    fewer; one seed is `--seeds 42,`.

    --on ray and --on slurm make the runs on machines that share this folder; every machine is asked first
    whether it computes the same. `reprokit runs attach SWEEP` continues after the tool was killed.

    Exit codes: 0 all members are finished; 3 some are not; 2 wrong usage; 130 and 143 interrupted.
    """
    from reprokit import harness
    from reprokit.errors import UsageError
    from reprokit.recipes import with_platform
    from reprokit.reports import sweep_display, sweep_table
    from reprokit.reports.tables import for_pipe

    project, dry_run = project_of(options), options["dry_run"]
    settings = with_platform(options["settings"], options.pop("platform") or "")
    if options["html"] and dry_run:
        raise UsageError("a page shows what was run", where="--html", fix="leave out --dry-run")
    with sweep_display.SweepDisplay() as progress:
        answer = harness.sweep(
            harness.SweepAsked(
                names=recipes,
                seeds=options["seeds"],
                settings=settings,
                arguments=options["arguments"],
                jobs=options["jobs"],
                **asked_of_features("sweep", options),
            ),
            request_of(options),
            session=harness.SweepSession(project=project, progress=progress),
            dry_run=dry_run,
        )
    lines = sweep_table.sweep_lines(
        answer.members,
        answer.actions,
        name=answer.name,
        path=answer.path,
        dry_run=dry_run,
        warnings=answer.warnings,
    )
    code = 0 if dry_run else answer.exit_code
    shown = () if as_json else for_pipe(lines, rest="--json has all")
    finished = any(member.state == "complete" for member in answer.members)
    after = [_next_line(answer, options)] if finished and not (dry_run or as_json) else []
    print_answer((*shown, *after), data=lambda: {**_data(answer), "exit_code": code}, as_json=as_json)
    if options["html"]:
        _write_page(answer, project=project, path=options["html"])
    for warning in answer.warnings:
        click.echo(f"Warning: {warning}{'' if warning.endswith('?') else '.'}", err=True)
    return code


@click.command(
    "stats",
    cls=Command,
    common="metric window html verbose json",
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
@titled(
    "Which runs, and how",
    click.option(
        "--same-inputs-as",
        "like",
        cls=Option,
        formerly="--like",
        metavar="RUN",
        help="Only runs on the inputs of RUN  [default: the newest].",
    ),
    click.option(
        "--seeds",
        metavar="SEEDS",
        help="Only runs with these seeds: 42,123, or a range with both ends, 0..9.",
    ),
    number_option(
        "--bootstrap-seed", least=0, default=0, help="Seed of the bootstrap: same seed, same interval."
    ),
)
@html_option
@json_option("Print everything as JSON, with every seed's value and the curves.")
@verbose_option
@folder_options
def stats(
    targets: tuple[str, ...],
    metrics: tuple[str, ...],
    windows: tuple[str, ...],
    like: str | None,
    seeds: str | None,
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
    from reprokit.features.sweeps import statistics_html, statistics_page
    from reprokit.features.sweeps import stats as over_seeds
    from reprokit.reports.tables import for_pipe

    project = project_of(options)
    found = over_seeds.statistics(
        targets,
        project=project,
        windows=windows or (over_seeds.ALL_WINDOWS if as_json or verbose else over_seeds.SHOWN_WINDOWS),
        metrics=metrics,
        like=like,
        seeds=_named_seeds(seeds),
        bootstrap_seed=bootstrap_seed,
    )
    if html:
        goldens = over_seeds.goldens_of(found, project=project)
        write_page(statistics_html.statistics_to_html(found, goldens, made=_made()), path=html)
    lines: Iterable[str] = () if as_json else statistics_page.page_lines(found, verbose=verbose)
    if not verbose:
        lines = for_pipe(lines, rest="-v shows all")
    print_answer(lines, data=lambda: statistics_page.to_data(found), as_json=as_json)
    return 0


def _made() -> str:
    """When a page is made, and by which command."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC · {shlex.join(['reprokit', *shown_words(sys.argv[1:])])}"


def _next_line(answer: Sweep, options: Mapping[str, Any]) -> str:
    """What shows the results; by its path, where the folder of runs is not the usual one."""
    place = answer.name if options.get("runs_dir") is None else str(answer.path)
    return f"next: reprokit stats {shlex.quote(place)}"


def _data(answer: Sweep) -> dict[str, Any]:
    from reprokit import runs

    found = runs.sweeps.as_data(answer.name, answer.members)
    rows = [{**row, "action": action} for row, action in zip(found["members"], answer.actions, strict=True)]
    return {**found, "members": rows, "warnings": list(answer.warnings), "path": answer.path}


def _write_page(answer: Sweep, *, project: Project, path: Path) -> None:
    from reprokit.features.sweeps import statistics_html, stats

    found, goldens = None, {}
    if any(member.state == "complete" for member in answer.members):
        found = stats.statistics([str(answer.path)], project=project, windows=stats.SHOWN_WINDOWS)
        goldens = stats.goldens_of(found, project=project)
    write_page(statistics_html.sweep_to_html(answer, found, goldens), path=path)


def _named_seeds(text: str | None) -> tuple[int, ...]:
    """The seeds that are named; not a number alone, which `sweep` takes for a count."""
    from reprokit.errors import UsageError
    from reprokit.harness.sweeping.asked import parse_seeds

    if text is not None and text.strip().isdecimal():
        raise UsageError("name the seeds", where="--seeds", expected=f"{text.strip()}, or 0..9", actual=text)
    return parse_seeds(text)(())
