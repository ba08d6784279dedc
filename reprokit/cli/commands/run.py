"""``reprokit run``: one run, no verdict."""

from __future__ import annotations

from typing import Any

import click

from reprokit.cli.copy_option import copied, copy_option, must_be_reachable
from reprokit.cli.help_pages import Title, titled
from reprokit.cli.options import (
    RecipeOrCommand,
    examples,
    exclusive_option,
    folder_options,
    json_option,
    number_option,
    project_of,
    recipe_or_command,
    request_of,
    run_options,
)
from reprokit.session import Session


@click.command(
    "run",
    cls=RecipeOrCommand,
    common="seed set backend runs-dir json",
    short_help="Run a recipe, or any command, once.",
    epilog=examples(
        "reprokit run cartpole_baseline --seed 123",
        "reprokit run cartpole_baseline --resume-from 20261121T101500Z-3fa9-seed42-1",
        "reprokit run cartpole_baseline --profile",
        "reprokit run -- python train.py --seed {seed} --logdir {run_dir}",
    ),
)
@click.argument("recipe", required=False, metavar="RECIPE | -- COMMAND…")
@json_option("Print run.json.")
@titled(
    Title.QUESTIONS,
    click.option(
        "--resume-from",
        metavar="RUN | CHECKPOINT",
        help="Resume from a checkpoint, or from a run's last whole one.",
    ),
    click.option("--profile", is_flag=True, help="Profile the training, into profile/ of the run folder."),
    number_option(
        "--profile-step",
        least=1,
        metavar="STEP",
        help="Profile the update that begins here  [default: the second].",
    ),
)
@copy_option
@run_options
@exclusive_option
@folder_options
def command(recipe: str | None, as_json: bool, **options: Any) -> int:
    """Run a recipe, or the command after --, once. The run folder's path goes to stdout.

    --resume-from resumes an earlier run with its seed and settings, in a folder of its own; run.json names
    the checkpoint.
    """
    import json

    from reprokit import harness, runs
    from reprokit.cli import show_report

    recipe, plain = recipe_or_command(recipe)
    if plain and options["resume_from"] is not None:
        raise click.UsageError("--resume-from is for recipes; a plain command has no known checkpoints")
    if plain and (options["profile"] or options["profile_step"] is not None):
        raise click.UsageError("--profile is for recipes; a plain command is run unchanged")
    must_be_reachable(options["copy_to"])
    request, project = request_of(options), project_of(options)
    with show_report.progress() as progress:
        if recipe is not None:
            folder = harness.run_once(recipe, request, session=Session(project=project, progress=progress))
        else:
            folder = harness.run_command_once(
                plain, request, session=Session(project=project, progress=progress)
            )
    stored = runs.read(folder, verify=False)
    click.echo(json.dumps(stored.document, indent=2) if as_json else str(folder))
    if not stored.complete:
        hint = stored.record.remedy or "run it again"
        click.echo(f"Error: {stored.incomplete_because}\nHint: {hint}", err=True)
        return 3
    return 0 if copied([folder], options["copy_to"]) else 3
