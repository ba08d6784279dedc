"""``reprokit sweep``: runs over seeds and settings, made once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.html_page import html_option, write_page
from reprokit.cli.options import (
    all_of,
    backend_option,
    base_option,
    engine_option,
    examples,
    json_option,
    number_option,
    platform_option,
    project_of,
    request_of,
    timeout_option,
)
from reprokit.cli.output import print_answer
from reprokit.cli.place_options import place_options, place_settings

if TYPE_CHECKING:
    from reprokit.harness import Sweep
    from reprokit.project import Project

_member_options = all_of(
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
    platform_option,
)


@click.command(
    "sweep",
    short_help="Run recipes over seeds and settings, each run once.",
    epilog=examples(
        "reprokit sweep cartpole_baseline --seeds 42,123,456,789,1024",
        "reprokit sweep cartpole_baseline cartpole_dqn --seeds 5",
        "reprokit sweep cartpole_baseline --set training.gamma=0.98,0.99 --dry-run",
        "reprokit sweep cartpole_baseline --seeds 5 --on slurm --slurm partition=cpu",
    ),
)
@click.argument("recipes", nargs=-1, required=True, metavar="RECIPE…")
@_member_options
@number_option("--jobs", least=1, help="Members side by side  [default: a core each].")
@place_options(default="local")
@click.option("--dry-run", is_flag=True, help="List what would be run, used again or tried again.")
@html_option
@json_option("Print the members as a JSON object.")
@engine_option
@backend_option(metavar="BACKEND", help="docker, local (virtual environment from the same lock) or auto.")
@base_option(metavar="BASE", help="What the image is built on: registry, bootstrap or auto.")
@timeout_option()
@click.option(
    "--runs-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of runs  [default: runs/].",
)
def command(recipes: tuple[str, ...], as_json: bool, **options: Any) -> int:
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
                jobs=options["jobs"],
                on=options["on"],
                place_settings=place_settings(options["on"], options["address"], options["slurm"]),
            ),
            request_of(options),
            session=harness.SweepSession(project=project, progress=progress),
            dry_run=dry_run,
        )
    if options["html"]:
        _write_page(answer, project=project, path=options["html"])

    lines = sweep_table.sweep_lines(
        answer.members,
        answer.actions,
        name=answer.name,
        path=answer.path,
        dry_run=dry_run,
        warnings=answer.warnings,
    )
    code = 0 if dry_run else answer.exit_code
    print_answer(lines, data=lambda: {**_data(answer), "exit_code": code}, as_json=as_json)
    for warning in answer.warnings:
        click.echo(f"Warning: {warning}{'' if warning.endswith('?') else '.'}", err=True)
    return code


def _data(answer: Sweep) -> dict[str, Any]:
    from reprokit import runs

    found = runs.sweeps.as_data(answer.name, answer.members)
    rows = [{**row, "action": action} for row, action in zip(found["members"], answer.actions, strict=True)]
    return {**found, "members": rows, "warnings": list(answer.warnings), "path": answer.path}


def _write_page(answer: Sweep, *, project: Project, path: Path) -> None:
    from reprokit.harness import stats
    from reprokit.reports import statistics_html

    found, goldens = None, {}
    if any(member.state == "complete" for member in answer.members):
        found = stats.statistics([str(answer.path)], project=project, windows=stats.SHOWN_WINDOWS)
        goldens = stats.goldens_of(found, project=project)
    write_page(statistics_html.sweep_to_html(answer, found, goldens), path=path)
