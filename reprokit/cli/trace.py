"""``reprokit trace diff``: where two runs that were watched drew differently."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.options import examples

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group("trace", short_help="Compare what was recorded of two watched runs.")
def command() -> None:
    """Look into what `reprokit diagnose` recorded."""


@command.command(
    "diff", epilog=examples("reprokit trace diff reports/x/T-diagnose/traces/01-first …/traces/02-second")
)
@click.argument("first", type=_FOLDER)
@click.argument("second", type=_FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def diff(first: Path, second: Path, as_json: bool) -> int:
    """Lines that drew differently in two runs, in the order in which the first came to them.

    Exit codes: 0 none; 1 some; 2 a folder holds no trace.
    """
    import dataclasses
    import json

    from reprokit import diagnosis
    from reprokit.cli.tables import shown
    from reprokit.errors import UsageError

    traces = [diagnosis.read_trace(folder) for folder in (first, second)]
    for folder, trace in zip((first, second), traces, strict=True):
        if not trace.processes:
            raise UsageError("no trace lies here", where=str(folder), fix="name a folder below traces/")
    differing = [traces[0].sites[name] for name in diagnosis.differing(*traces)]
    if as_json:
        sites = [dataclasses.asdict(site) for site in differing]
        click.echo(json.dumps({"differing": sites, "compared": len(traces[0].sites)}, indent=2))
        return 1 if differing else 0
    for site in differing:
        what = f"  {shown(site.what)}" if site.what else ""
        category = diagnosis.category_of(site.kind)
        click.echo(f"{category:<22}{shown(site.file)}:{site.line}  {site.count} times{what}")
    click.echo(f"{len(differing)} of {len(traces[0].sites)} lines drew differently")
    return 1 if differing else 0
