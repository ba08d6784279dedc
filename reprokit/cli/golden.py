"""``reprokit golden``: the blessed runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.options import examples, folder_options, project_of


@click.group(
    "golden",
    short_help="List, show and promote goldens.",
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
    from reprokit.reports.escaping import one_line

    rows = golden.list_all(project_of(options).golden_dir)
    if as_json:
        keys = ("recipe", "platform", "seed", "created_at", "reason", "runs_agreed", "problem")
        listed = [{**{key: getattr(row, key) for key in keys}, "path": str(row.path)} for row in rows]
        click.echo(json.dumps(listed, indent=2))
    elif not rows:
        click.echo("no goldens yet; `reprokit golden promote RECIPE --reason …` makes one", err=True)
    else:
        for row in rows:
            tail = row.problem or f"{row.created_at}  {row.runs_agreed} runs agreed  {row.reason}"
            click.echo(one_line(f"{row.recipe}  {row.platform}  seed {row.seed}  {tail}"))
    return 2 if any(row.problem for row in rows) else 0


@command.command("show", epilog=examples("reprokit golden show golden/cartpole_baseline/cpu-x86_64/seed-42"))
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print provenance.json.")
def show_golden(path: Path, as_json: bool) -> int:
    """Show where a golden comes from: when, why, from what, on what."""
    import json

    from reprokit import golden
    from reprokit.reports.escaping import one_line

    told = golden.load(path).provenance
    if as_json:
        click.echo(json.dumps(dict(told), indent=2))
        return 0
    for key in (
        "recipe",
        "platform",
        "seed",
        "created_at",
        "reason",
        "runs_agreed",
        "previous",
        "fingerprint",
    ):
        click.echo(f"{key:<12} {one_line(told[key])}")
    for name, value in told["digests"].items():
        click.echo(f"  {one_line(name):<10} {one_line(value)}")
    for name, value in told["image"].items():
        click.echo(f"  {one_line('image ' + name):<12} {one_line(value)}")
    return 0


@command.command(
    "promote",
    epilog=examples(
        "reprokit golden promote cartpole_baseline --reason 'learning rate halved'",
        "reprokit golden promote RUN RUN --reason 'first golden'",
    ),
)
@click.argument("what", nargs=-1, required=True, metavar="RECIPE | RUN RUN…")
@click.option("--reason", required=True, help="Why these numbers are expected from now on.")
@click.option("--seed", type=int, help="With RECIPE: the newest runs with this seed.")
@click.option("--allow-dirty", is_flag=True, help="Take runs of a tree with changes that nothing records.")
@click.option("--allow-nonfinite", is_flag=True, help="Take metrics with NaN or infinities in them.")
@click.option("--json", "as_json", is_flag=True, help="Print provenance.json.")
@folder_options
def promote(
    what: tuple[str, ...],
    reason: str,
    seed: int | None,
    allow_dirty: bool,
    allow_nonfinite: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Bless runs: the newest finished pair of RECIPE, or the run folders named.

    The runs must be complete, unmodified and equal byte for byte. Nothing is trained here.
    """
    import json
    from datetime import UTC, datetime

    from reprokit import harness, runs

    project = project_of(options)
    if len(what) == 1 and not Path(what[0], "run.json").is_file():
        folders = harness.newest_pair(project.runs_dir, what[0], seed=seed)
    else:
        folders = tuple(runs.find(project.runs_dir, one) for one in what)
    blessed = harness.bless(
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
