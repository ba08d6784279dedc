"""``reprokit runs``: list, show, compare, repeat, prune and copy run folders.

All that is printed comes from files that anyone may have written, and is escaped first.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from reprokit.cli.commands.runs_watch import watch
from reprokit.cli.extensions import ExtensibleGroup
from reprokit.cli.help_pages import Option, titled
from reprokit.cli.options import (
    MOST_DAYS,
    PLOT_POINTS,
    FiniteRange,
    backend_option,
    base_option,
    examples,
    folder_options,
    json_option,
    judge_options,
    number_option,
    picture_file,
    plot_option,
    project_of,
    request_of,
    timeout_option,
    write_picture,
)
from reprokit.cli.output import print_answer, print_json
from reprokit.redaction import redact_text
from reprokit.session import Session

_DAY = click.DateTime(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"])


def _verdict(_context: click.Context, _option: click.Parameter, word: str | None) -> str | None:
    if word is None or word == "-":
        return word
    import difflib

    from reprokit.core import checklist

    known = ["-", *(verdict.value for verdict in checklist.Verdict)]
    if word.upper() not in known:
        near = difflib.get_close_matches(word.upper(), known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(known)}"
        raise click.BadParameter(f"{word!r} is not a verdict: {hint}")
    return word


@click.group(
    "runs",
    cls=ExtensibleGroup,
    short_help="List, show, compare, repeat, prune and copy run folders.",
    epilog=examples("reprokit runs list --recipe cartpole_baseline"),
)
def command() -> None:
    """Work with run folders: what was run, how it ended, how runs compare."""


command.add_command(watch)


@command.command(
    "list",
    common="recipe since verdict outcome json",
    epilog=examples("reprokit runs list --recipe pg --verdict REPRODUCED"),
)
@click.option("--recipe", help="Only runs of this recipe.")
@click.option(
    "--since", type=_DAY, metavar="DAY", help="Only runs started on this day (UTC) or later: 2026-11-20."
)
@click.option("--verdict", metavar="WORD", callback=_verdict, help="Only runs with this verdict; - for none.")
@click.option("--outcome", metavar="WORD", help="Only runs with this outcome: complete, crashed, …")
@titled(
    "Further filters",
    click.option("--until", type=_DAY, metavar="DAY", help="Only runs started on this day (UTC) or earlier."),
    click.option(
        "--environment",
        metavar="TEXT",
        help="Only runs in this environment: cpu, image, venv, or the beginning of an image or lock digest.",
    ),
)
@json_option("Print a JSON list.")
@folder_options
def list_runs(as_json: bool, **options: Any) -> int:
    """List the run folders, oldest first, each with the verdict of the newest report that names it.

    No file is checked; `runs show` reads every byte of one run.
    """
    import time
    from dataclasses import asdict

    from reprokit.reports.pages import run_tables
    from reprokit.runs import listing, selection

    project = project_of(options)
    found = listing.summaries(project.runs_dir, reports_dir=project.reports_dir, now_ns=time.time_ns())
    names = ("recipe", "verdict", "outcome", "environment", "since", "until")
    rows = selection.select(found, **{name: options[name] for name in names})
    if not rows and not as_json:
        empty = "no run matches" if found else "no runs yet; `reprokit reproduce RECIPE` makes two"
        click.echo(empty, err=True)
        return 0
    print_answer(run_tables.run_table(rows), data=lambda: [asdict(run) for run in rows], as_json=as_json)
    return 0


@command.command("show", epilog=examples("reprokit runs show 20261120T101500Z-3fa9-seed42-1"))
@click.argument("run")
@json_option("Print run.json.")
@folder_options
def show_run(run: str, as_json: bool, **options: Any) -> int:
    """Show one run: a path, a run id, or its unambiguous beginning."""
    import shlex
    import time

    from reprokit import runs
    from reprokit.reports.pages import run_tables
    from reprokit.runs import listing

    project = project_of(options)
    stored = runs.read(runs.find(project.runs_dir, run))
    if as_json:
        print_json(stored.document)
        return 0
    key = listing.key_of(stored.path.resolve())
    notes = listing.report_notes(project.reports_dir, now_ns=time.time_ns())
    summary = listing.summary_of(stored, verdict=listing.verdicts_of(notes).get(key, listing.NO_VERDICT))
    naming = [note for note in notes if key in note.stands_on]
    typed = shlex.join(stored.record.command or ())
    page = run_tables.run_page(summary, folder=stored.path, notes=naming, files=stored.files, command=typed)
    click.echo("\n".join(page))
    return 0


@command.command("compare", epilog=examples("reprokit runs compare RUN RUN --plot curves.svg"))
@click.argument("chosen", nargs=-1, required=True, metavar="RUN RUN…")
@click.option("--all", "show_all", is_flag=True, help="Show what is equal too, and all lines.")
@json_option()
@plot_option("all runs in one picture")
@folder_options
def compare(chosen: tuple[str, ...], show_all: bool, as_json: bool, plot: Path | None, **options: Any) -> int:
    """Compare runs with the first one: configuration, source, environment and metrics, side by side.

    Exit codes: 0 all metrics are equal; 1 some differ; 2 some cannot be compared.
    """
    from reprokit import harness, runs
    from reprokit.reports import shown
    from reprokit.reports.charts import diff_to_svg
    from reprokit.reports.pages import runs_beside
    from reprokit.reports.terminal import diff_to_terminal

    picture_file(plot)
    runs_dir = project_of(options).runs_dir
    found = harness.beside([runs.find(runs_dir, run) for run in chosen])
    if as_json:
        print_json(runs_beside.to_data(found), default=str)
    else:
        click.echo(runs_beside.page(found, show_all=show_all))
    for warning in found.warnings:
        click.echo(f"Warning: {shown(warning, limit=1000)}; it proves nothing.", err=True)
    if plot is not None:
        series = harness.curves(found.folders, labels=runs_beside.curve_labels(found), max_points=PLOT_POINTS)
        worst = next((one for one in found.comparisons if one.divergence), found.comparisons[0])
        title = diff_to_terminal.headline(worst)
        write_picture(plot, diff_to_svg.diff_to_svg(series, worst.divergence, title=title))
    return found.exit_code


@command.command(
    "reproduce",
    common="backend repeats strict verbose json",
    epilog=examples("reprokit runs reproduce theirs/pg/20261120T101500Z-3fa9-seed42-1"),
)
@click.argument("run")
@backend_option(help="Container, or virtual environment from the same lock; auto: as in the run.")
@base_option()
@timeout_option()
@judge_options
@folder_options
def reproduce(run: str, **options: Any) -> int:
    """Repeat RUN from its own folder, and compare the new runs with it as with a golden.

    Environment, recipe, trainer, overrides and seed are those that RUN records. REPRODUCED means that the
    new runs agree with each other and with RUN. This runs the trainer in RUN's folder: use --backend docker
    if you do not trust it.
    """
    from reprokit import harness, runs
    from reprokit.cli import show_report

    request, project = request_of(options), project_of(options)
    with show_report.progress() as progress:
        answer, folder = harness.reproduce_run(
            runs.find(project.runs_dir, run), request, session=Session(project=project, progress=progress)
        )
    show_report.to_github([answer])
    show_report.report(answer, folder=folder, as_json=options["as_json"], verbose=options["verbose"])
    return answer.exit_code


@command.command(
    "prune",
    common="recipe keep older-than yes json",
    epilog=examples("reprokit runs prune --incomplete --older-than 30 --yes"),
)
@click.option("--recipe", help="Only runs of this recipe.")
@number_option("--keep", least=0, help="Keep the newest N of each recipe.")
@click.option(
    "--older-than",
    "older_than_days",
    cls=Option,
    type=FiniteRange(min=0, max=MOST_DAYS),
    metavar="DAYS",
    help="Only runs started longer ago than this.",
)
@click.option("--incomplete", is_flag=True, help="Only incomplete runs.")
@click.option("--yes", is_flag=True, help="Remove them; without it, only list them.")
@json_option()
@folder_options
def prune(yes: bool, as_json: bool, **options: Any) -> int:
    """Remove run folders that match all options, except those that a golden or a report refers to.

    To remove a run that a report refers to, remove the report first.
    """
    from reprokit.harness import curation
    from reprokit.reports.pages import run_tables

    choice = curation.PruneChoice(
        **{name: options[name] for name in ("recipe", "keep", "older_than_days", "incomplete")}
    )
    carry_out = curation.prune if yes else curation.plan_prune
    plan = carry_out(project_of(options), choice, now=datetime.now(UTC))
    if as_json:
        going = [{"path": str(run.path), "bytes": run.num_bytes} for run in plan.going]
        kept = [{"path": str(run.path), "because": run.because} for run in plan.kept]
        print_json({"removed": yes, "going": going, "kept": kept})
    else:
        click.echo("\n".join(run_tables.prune_lines(plan.kept, plan.going, removed=yes)))
        if plan.going and not yes:
            click.echo("Nothing was removed.\nHint: add --yes to remove them", err=True)
    return 0


@command.command(
    "push", epilog=examples("reprokit runs push 20261121T101500Z-3fa9-seed42-1 gs://bucket/experiments")
)
@click.argument("run")
@click.argument("url")
@json_option("Print JSON.")
@folder_options
def push(run: str, url: str, as_json: bool, **options: Any) -> int:
    """Copy a finished run to URL/RECIPE/RUN, read every file back, write COMPLETE last, print the URL.

    Exit codes: 0 copied and whole; 2 unknown URL; 3 the run is incomplete, or could not be copied.
    """
    from reprokit import runs
    from reprokit.reports import one_line
    from reprokit.runs import remote

    folder = runs.find(project_of(options).runs_dir, run)
    where = remote.push(folder, url)
    answer = {"exit_code": 0, "run": str(folder), "url": redact_text(where)}
    print_answer([one_line(where, limit=2000)], data=lambda: answer, as_json=as_json)
    return 0


@command.command("verify", epilog=examples("reprokit runs verify gs://bucket/experiments/cartpole/RUN"))
@click.argument("run", metavar="RUN|URL")
@json_option("Print JSON.")
@folder_options
def verify(run: str, as_json: bool, **options: Any) -> int:
    """Check every file of a run, here or at a URL, against its COMPLETE.

    Exit codes: 0 all files match; 1 one does not; 2 there is no finished run; 3 the storage failed.
    """
    from reprokit import runs
    from reprokit.reports import one_line
    from reprokit.runs import remote

    if remote.is_url(run):
        found = remote.verify(run)
    else:
        stored = runs.read(runs.find(project_of(options).runs_dir, run))
        problems = () if stored.complete else (stored.incomplete_because,)
        found = remote.RemoteRun(url=str(stored.path), num_files=len(stored.files), problems=problems)
    if as_json:
        answer = {
            "run": redact_text(found.url),
            "num_files": found.num_files,
            "problems": list(map(redact_text, found.problems)),
        }
        print_json({"exit_code": 1 if found.problems else 0, **answer})
    else:
        word = "not whole" if found.problems else "whole"
        click.echo(one_line(f"{word}: {found.url}: {found.num_files} files", limit=2000))
        for problem in found.problems:
            click.echo(f"  {one_line(problem, limit=2000)}")
    return 1 if found.problems else 0
