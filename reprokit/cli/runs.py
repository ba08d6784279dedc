"""``reprokit runs``: what was run, and what became of it."""

from __future__ import annotations

from typing import Any

import click

from reprokit.cli.options import folder_options, project_of


@click.group(
    "runs",
    short_help="List, show, compare, repeat and prune run folders.",
    epilog="Example: reprokit runs list --recipe cartpole_baseline",
)
def command() -> None:
    """The run folders are the only truth; every verb here reads them."""


@command.command("list", epilog="Example: reprokit runs list --recipe cartpole_baseline --json")
@click.option("--recipe", help="Only this recipe's.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@folder_options
def list_runs(recipe: str | None, as_json: bool, **options: Any) -> int:
    """List the run folders, oldest first."""
    import json

    from reprokit import runs

    rows = [
        _row(runs.read(path, verify=False))
        for path in runs.list_all(project_of(options).runs_dir, recipe=recipe)
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return 0
    if not rows:
        click.echo("no runs yet; `reprokit reproduce RECIPE` makes two", err=True)
        return 0
    widths = {key: max(len(key), *(len(str(row[key])) for row in rows)) for key in rows[0]}
    click.echo("  ".join(key.ljust(widths[key]) for key in rows[0]).rstrip())
    for row in rows:
        click.echo("  ".join(str(row[key]).ljust(widths[key]) for key in row).rstrip())
    return 0


@command.command("show", epilog="Example: reprokit runs show 20261120T101500Z-3fa9-seed42-1")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print run.json.")
@folder_options
def show_run(run: str, as_json: bool, **options: Any) -> int:
    """Show one run: a path, a run id, or its unambiguous beginning."""
    import json

    from reprokit import runs

    stored = runs.read(runs.find(project_of(options).runs_dir, run))
    if as_json:
        click.echo(json.dumps(dict(stored.record), indent=2, ensure_ascii=False))
        return 0
    for key, value in _row(stored).items():
        click.echo(f"{key:<10} {value}")
    click.echo(f"{'folder':<10} {stored.path}")
    if not stored.complete:
        click.echo(f"{'because':<10} {stored.incomplete_because}")
    for name, size in stored.files.items():
        click.echo(f"  {size:>12,}  {name}")
    return 0


def _row(stored: Any) -> dict[str, Any]:
    record = stored.record
    return {
        "run_id": stored.path.name,
        "recipe": record.get("recipe"),
        "seed": record.get("seed"),
        "outcome": "complete" if stored.complete else str(record.get("outcome") or record.get("state")),
        "backend": record.get("backend"),
        "started": record.get("started_at"),
        "duration_s": record.get("duration_s"),
        "modified": ",".join(record.get("modified") or ()) or "-",
    }
