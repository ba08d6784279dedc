"""``reprokit run``: one run, no judgement."""

from __future__ import annotations

from typing import Any

import click

from reprokit.cli.options import (
    RecipeOrCommand,
    examples,
    folder_options,
    project_of,
    recipe_or_command,
    request_of,
    run_options,
)


@click.command(
    "run",
    cls=RecipeOrCommand,
    short_help="Run a recipe, or any command, once.",
    epilog=examples(
        "reprokit run cartpole_baseline --seed 123",
        "reprokit run --seed 7 -- python train.py --seed {seed} --out {run_dir}",
    ),
)
@click.argument("recipe", required=False, metavar="RECIPE | -- COMMAND…")
@click.option("--json", "as_json", is_flag=True, help="Print run.json.")
@run_options
@folder_options
def command(recipe: str | None, as_json: bool, **options: Any) -> int:
    """Run a recipe, or the command after --, once. The run folder's path goes to stdout."""
    import json

    from reprokit import harness, runs
    from reprokit.cli import show

    recipe, plain = recipe_or_command(recipe)
    request, project = request_of(options), project_of(options)
    with show.progress() as progress:
        if recipe is not None:
            folder = harness.run_once(recipe, request, project=project, progress=progress)
        else:
            folder = harness.run_command_once(plain, request, project=project, progress=progress)
    stored = runs.read(folder, verify=False)
    click.echo(json.dumps(stored.record, indent=2) if as_json else str(folder))
    if not stored.complete:
        click.echo(
            f"Error: {stored.incomplete_because}. Do: {stored.record.get('remedy', 'run it again')}", err=True
        )
        return 3
    return 0
