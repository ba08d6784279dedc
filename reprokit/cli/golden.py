"""``reprokit golden``: the blessed runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.options import (
    PLOT_POINTS,
    examples,
    folder_options,
    picture_file,
    project_of,
    write_picture,
)
from reprokit.layout import RECORD


@click.group(
    "golden",
    short_help="List, show, compare, check and promote goldens.",
    epilog=examples("reprokit golden list"),
)
def command() -> None:
    """A golden is the blessed run of a recipe on a platform, with its provenance, under golden/."""


@command.command("list", epilog=examples("reprokit golden list --json"))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@folder_options
def list_goldens(as_json: bool, **options: Any) -> int:
    """List the goldens, and what is wrong with those that cannot be used."""
    import json

    from reprokit import golden
    from reprokit.reports import golden_list

    rows = golden.list_all(project_of(options).golden_dir)
    if as_json:
        click.echo(json.dumps([golden_list.golden_data(row) for row in rows], indent=2))
    elif not rows:
        click.echo("no goldens yet; `reprokit golden promote RECIPE --reason …` makes one", err=True)
    else:
        click.echo("\n".join(map(golden_list.golden_line, rows)))
    return 2 if any(row.problem for row in rows) else 0


@command.command("show", epilog=examples("reprokit golden show golden/cartpole_baseline/cpu-x86_64/seed-42"))
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print provenance.json.")
def show_golden(path: Path, as_json: bool) -> int:
    """Show where a golden comes from: when, why, from what, on what."""
    import json

    from reprokit import golden
    from reprokit.reports import golden_provenance

    provenance = golden.load(golden.find(path)).provenance
    if as_json:
        click.echo(json.dumps(dict(provenance), indent=2))
    else:
        click.echo("\n".join(golden_provenance.provenance_lines(provenance)))
    return 0


@command.command(
    "promote",
    epilog=examples(
        "reprokit golden promote cartpole_baseline --reason 'learning rate halved'",
        "reprokit golden promote RUN RUN --reason 'first golden'",
        "reprokit golden promote --from reports/pg/TIME --reason 'discount less'",
    ),
)
@click.argument("what", nargs=-1, metavar="RECIPE | RUN RUN…")
@click.option(
    "--from",
    "report",
    type=click.Path(path_type=Path),
    metavar="REPORT",
    help="The runs that this report judged: the folder of a report, or its report.json.",
)
@click.option("--reason", required=True, help="Why these numbers are expected from now on.")
@click.option("--seed", type=int, help="With RECIPE: the newest runs with this seed.")
@click.option("--allow-dirty", is_flag=True, help="Take runs of a tree with changes that nothing records.")
@click.option("--allow-nonfinite", is_flag=True, help="Take metrics with NaN or infinities in them.")
@click.option("--json", "as_json", is_flag=True, help="Print provenance.json.")
@folder_options
def promote(
    what: tuple[str, ...],
    report: Path | None,
    reason: str,
    seed: int | None,
    allow_dirty: bool,
    allow_nonfinite: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Bless runs: the newest finished pair of RECIPE, the run folders named, or those of a report.

    The runs must be complete, unmodified and equal byte for byte. Nothing is trained here.
    """
    import json
    from datetime import UTC, datetime

    from reprokit import runs
    from reprokit.harness import curation

    project = project_of(options)
    if bool(what) == (report is not None):
        raise click.UsageError("name a recipe, run folders, or a report with --from")
    if report is not None:
        folders = curation.runs_of_report(report)
    elif len(what) == 1 and not Path(what[0], RECORD).is_file():
        folders = curation.newest_pair(project.runs_dir, what[0], seed=seed)
    else:
        folders = tuple(runs.find(project.runs_dir, one) for one in what)
    blessed = curation.promote(
        folders,
        project=project,
        reason=reason,
        now=datetime.now(UTC).isoformat(timespec="seconds"),
        allow_dirty=allow_dirty,
        allow_nonfinite=allow_nonfinite,
    )
    if as_json:
        click.echo(json.dumps(dict(blessed.provenance), indent=2))
    else:
        click.echo(f"{blessed.path}: {blessed.provenance['runs_agreed']} runs agreed")
    click.echo("Commit it together with the change that its reason names.", err=True)
    return 0


@command.command(
    "lint",
    epilog=examples("reprokit golden lint", "reprokit golden lint cartpole_baseline --min-runs 5"),
)
@click.argument("recipes", nargs=-1, metavar="[RECIPE…]")
@click.option(
    "--min-runs",
    type=click.IntRange(2, 100),
    default=2,
    show_default=True,
    metavar="N",
    help="How many runs must have agreed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@folder_options
def lint(recipes: tuple[str, ...], min_runs: int, as_json: bool, **options: Any) -> int:
    """Say what is wrong with the goldens: each finding with its file, and what to do. Nothing is run.

    Exit codes: 0 nothing; 1 findings; 4 there is no golden to look at.
    """
    import dataclasses
    import json

    from reprokit import golden
    from reprokit.harness import curation
    from reprokit.reports import golden_list

    project = project_of(options)
    findings = curation.lint_goldens(project, min_runs=min_runs, names=recipes)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(one) for one in findings], indent=2))
    for one in () if as_json else findings:
        click.echo(golden_list.finding_line(one, root=Path.cwd()))
    rows = [row for row in golden.list_all(project.golden_dir) if not recipes or row.recipe in recipes]
    click.echo(golden_list.count_line(goldens=len(rows), findings=len(findings)), err=True)
    return 4 if not rows else 1 if findings else 0


@command.command(
    "diff",
    epilog=examples(
        "reprokit golden diff HEAD:golden/pg/tpu-v4/seed-7 golden/pg/tpu-v4/seed-7",
        "reprokit golden diff OLD NEW --markdown --plot moved.svg",
    ),
)
@click.argument("old")
@click.argument("new")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg",
    help="Draw the curves of both.",
)
def diff(old: str, new: str, markdown: bool, as_json: bool, plot: Path | None) -> int:
    """Say what a new golden changes: which metrics moved, by how much, where they part, and why.

    OLD and NEW are folders, or REVISION:FOLDER as git spells it, with the folder from here.

    Exit codes: 0 no number moved; 1 some did; 2 not two goldens of one thing.
    """
    import json

    from reprokit import adapters
    from reprokit.core import comparison
    from reprokit.harness.curation import compare_goldens, opened
    from reprokit.reports import diff_to_svg, golden_diff

    picture_file(plot)
    with opened(old, at=Path.cwd()) as before, opened(new, at=Path.cwd()) as after:
        found = compare_goldens(before, after)
        if plot is not None:
            sides = adapters.source_of(before.metrics), adapters.source_of(after.metrics)
            series = adapters.series_of_pairs([sides], max_points=PLOT_POINTS)
            divergence = comparison.to_json(found.comparison)["divergence"]
            picture = diff_to_svg.diff_to_svg(series, divergence, title=golden_diff.headline(found))
            write_picture(plot, picture)
    if as_json:
        click.echo(json.dumps(golden_diff.to_data(found), indent=2))
    else:
        draw = golden_diff.to_markdown if markdown else golden_diff.to_terminal
        click.echo(draw(found), nl=False)
    return comparison.exit_code(found.comparison)
