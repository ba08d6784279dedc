"""``reprokit runs``: what was run, what became of it, how it compares, and whether it can be repeated.

Everything printed comes from files that anybody may have written, and is made visible first.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli import runs_remote
from reprokit.cli.options import (
    backend_option,
    base_option,
    folder_options,
    judge_options,
    picture_file,
    project_of,
    request_of,
)

if TYPE_CHECKING:
    from reprokit.harness import Prune
    from reprokit.runs.listing import Summary

_DAY = click.DateTime(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"])
_PLOT_POINTS = 600


def _verdict(_context: click.Context, _option: click.Parameter, word: str | None) -> str | None:
    if word is None or word == "-":
        return word
    import difflib

    from reprokit.core.checklist import Verdict

    known = ["-", *(verdict.value for verdict in Verdict)]
    if word.upper() not in known:
        near = difflib.get_close_matches(word.upper(), known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(known)}"
        raise click.BadParameter(f"{word!r} is no verdict: {hint}")
    return word


@click.group(
    "runs",
    short_help="List, show, compare, repeat and prune run folders.",
    epilog="Example: reprokit runs list --recipe cartpole_baseline",
)
def command() -> None:
    """The run folders are the only truth; every verb here reads them."""


command.add_command(runs_remote.push)
command.add_command(runs_remote.verify)


@command.command("list", epilog="Example: reprokit runs list --recipe cartpole_baseline --verdict REPRODUCED")
@click.option("--recipe", help="Only this recipe's.")
@click.option("--since", type=_DAY, help="Only those that started on this day (UTC) or later.")
@click.option("--until", type=_DAY, help="Only those that started on this day (UTC) or earlier.")
@click.option(
    "--verdict", metavar="WORD", callback=_verdict, help="Only those of this verdict; - for those without."
)
@click.option("--outcome", metavar="WORD", help="Only those that ended so: complete, crashed, …")
@click.option(
    "--environment",
    metavar="TEXT",
    help="Only those whose environment is called so (cpu, image, venv), or "
    "the digest of whose image or lock begins so.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@folder_options
def list_runs(as_json: bool, **options: Any) -> int:
    """List the run folders, oldest first, each with the verdict of the newest report that names it.

    A list says what the files say; `runs show` reads every byte of one run.
    """
    import time
    from dataclasses import asdict

    from reprokit.cli.tables import table
    from reprokit.runs import listing

    project = project_of(options)
    found = listing.summaries(project.runs_dir, reports_dir=project.reports_dir, now_ns=time.time_ns())
    rows = [run for run in found if _fits(run, options)]
    if as_json:
        import json

        click.echo(json.dumps([asdict(run) for run in rows], indent=2))
    elif not rows:
        told = "no run fits" if found else "no runs yet; `reprokit reproduce RECIPE` makes two"
        click.echo(told, err=True)
    else:
        click.echo("\n".join(table([_row(run) for run in rows])))
    return 0


def _fits(run: Summary, wanted: dict[str, Any]) -> bool:
    """Whether a run is one that was asked for."""
    since, until, text = wanted["since"], wanted["until"], wanted["environment"]
    if until is not None and until.time() == datetime.min.time():
        until += timedelta(days=1, seconds=-1)
    names = (*run.environment.split(), *run.digests, *(one.removeprefix("sha256:") for one in run.digests))
    return (
        wanted["recipe"] in {None, run.recipe}
        and (wanted["verdict"] or run.verdict).upper() == run.verdict.upper()
        and wanted["outcome"] in {None, run.outcome}
        and (since is None or run.started_at >= f"{since:%Y-%m-%dT%H:%M:%SZ}")
        and (until is None or "" < run.started_at <= f"{until:%Y-%m-%dT%H:%M:%SZ}")
        and (text is None or run.environment == text or any(name.startswith(text) for name in names))
    )


def _row(run: Summary) -> dict[str, Any]:
    return {
        "run": run.run_id,
        "recipe": run.recipe,
        "seed": run.seed,
        "started": run.started_at,
        "seconds": None if run.duration_s is None else f"{run.duration_s:.1f}",
        "outcome": run.outcome,
        "verdict": run.verdict,
        "environment": _environment(run),
        "modified": " ".join(run.modified),
    }


def _environment(run: Summary) -> str:
    """``cpu image 8f0d3c21``: variant, kind, and the beginning of the digest."""
    digests = [digest.removeprefix("sha256:")[:8] for digest in run.digests[:1]]
    return " ".join([run.environment, *digests]).strip()


@command.command("show", epilog="Example: reprokit runs show 20261120T101500Z-3fa9-seed42-1")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print run.json.")
@folder_options
def show_run(run: str, as_json: bool, **options: Any) -> int:
    """Show one run: a path, a run id, or its unambiguous beginning."""
    import json
    import time

    from reprokit import runs
    from reprokit.cli.tables import shown
    from reprokit.runs import listing

    project = project_of(options)
    stored = runs.read(runs.find(project.runs_dir, run))
    if as_json:
        click.echo(json.dumps(dict(stored.record), indent=2))
        return 0
    key = listing.key_of(stored.path.resolve())
    notes = listing.report_notes(project.reports_dir, now_ns=time.time_ns())
    summary = listing.summary_of(stored, verdict=listing.verdicts_of(notes).get(key, listing.NO_VERDICT))
    for name, value in _row(summary).items():
        click.echo(f"{name:<12} {shown(value)}")
    if not stored.complete:
        click.echo(f"{'because':<12} {shown(stored.incomplete_because, limit=1000)}")
    click.echo(f"{'folder':<12} {shown(stored.path, limit=1000)}")
    for note in notes:
        if key in note.stands_on:
            click.echo(f"{'report':<12} {shown(note.verdict)}  {shown(note.path, limit=1000)}")
    for name, size in stored.files.items():
        click.echo(f"  {size:>12,}  {shown(name)}")
    return 0


@command.command("compare", epilog="Example: reprokit runs compare RUN RUN --plot curves.svg")
@click.argument("chosen", nargs=-1, required=True, metavar="RUN RUN…")
@click.option("--all", "show_all", is_flag=True, help="Show what is equal, too, and long lists whole.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg",
    help="Draw the curves of all, one over the other.",
)
@folder_options
def compare(chosen: tuple[str, ...], show_all: bool, as_json: bool, plot: Path | None, **options: Any) -> int:
    """Lay runs side by side: configuration, source, environment, metrics. The others against the first.

    Exit codes: 0 the metrics of all are equal; 1 some differ; 2 some cannot be compared.
    """
    from reprokit import harness, runs
    from reprokit.cli import runs_compare
    from reprokit.cli.tables import shown

    picture_file(plot)
    runs_dir = project_of(options).runs_dir
    found = harness.beside([runs.find(runs_dir, run) for run in chosen])
    click.echo(runs_compare.as_json(found) if as_json else runs_compare.page(found, show_all=show_all))
    for warning in found.warnings:
        click.echo(f"Warning: {shown(warning, limit=1000)}; it proves nothing.", err=True)
    if plot is not None:
        runs_compare.draw(found, plot, max_points=_PLOT_POINTS)
        click.echo(f"Wrote {plot}", err=True)
    return found.exit_code


@command.command(
    "reproduce",
    epilog="Example: reprokit runs reproduce theirs/cartpole_baseline/20261120T101500Z-3fa9-seed42-1",
)
@click.argument("run")
@backend_option(
    help="Container, or virtual environment from the same lock; auto: what the run had.",
)
@base_option(
    help="What an image is built on.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop a run after this long.",
)
@judge_options
@folder_options
def reproduce(run: str, **options: Any) -> int:
    """Repeat RUN from its own folder, and judge the new runs with RUN in the golden's part.

    Environment, recipe, trainer, overrides and seed are those that RUN records. REPRODUCED says that
    the new runs agree with each other and with RUN. The trainer in RUN's folder is run: of a folder
    that you do not trust, only with --backend docker.
    """
    from reprokit import harness, runs
    from reprokit.cli import show_report

    request, project = request_of(options), project_of(options)
    with show_report.progress() as progress:
        answer, folder = harness.reproduce_run(
            runs.find(project.runs_dir, run), request, project=project, progress=progress
        )
    show_report.to_github([answer])
    show_report.report(answer, folder=folder, as_json=options["as_json"])
    return answer.exit_code


@command.command("prune", epilog="Example: reprokit runs prune --incomplete --older-than 30 --yes")
@click.option("--recipe", help="Only this recipe's.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Never the newest N of each recipe.")
@click.option(
    "--older-than",
    "older_than_days",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Only those that started longer ago.",
)
@click.option("--incomplete", is_flag=True, help="Only those that are not complete.")
@click.option("--yes", is_flag=True, help="Remove them. Without it, only say what would go.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@folder_options
def prune(yes: bool, as_json: bool, **options: Any) -> int:
    """Remove run folders that fit everything said, but never what a golden or a report stands on.

    To be rid of a run that a report stands on, remove the report first.
    """
    import json

    from reprokit import harness

    choice = harness.Choice(
        **{name: options[name] for name in ("recipe", "keep", "older_than_days", "incomplete")}
    )
    carry_out = harness.prune if yes else harness.plan_prune
    plan = carry_out(project_of(options), choice, now=datetime.now(UTC))
    if as_json:
        going = [{"path": str(run.path), "bytes": run.num_bytes} for run in plan.going]
        kept = [{"path": str(run.path), "because": run.because} for run in plan.kept]
        click.echo(json.dumps({"removed": yes, "going": going, "kept": kept}, indent=2))
    else:
        _print_prune(plan, removed=yes)
    return 0


def _print_prune(plan: Prune, *, removed: bool) -> None:
    from reprokit.cli.tables import bytes_text, shown

    for one in plan.kept:
        click.echo(f"kept     {shown(one.path, limit=1000)}: {shown(one.because, limit=1000)}")
    for run in plan.going:
        told = f"{run.outcome}, {bytes_text(run.num_bytes)}"
        click.echo(f"{'removed' if removed else 'would go':<8} {shown(run.path, limit=1000)} ({shown(told)})")
    verb = "removed" if removed else "would be removed"
    click.echo(f"{len(plan.going)} runs {verb}, {bytes_text(plan.num_bytes)}; {len(plan.kept)} kept.")
    if plan.going and not removed:
        click.echo("Nothing was touched: add --yes to remove them.", err=True)
