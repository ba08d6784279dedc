"""``reprokit reproduce``: train twice, compare, judge."""

from __future__ import annotations

from typing import Any

import click

from reprokit.cli.copy_option import copied, copy_option, must_be_reachable
from reprokit.cli.options import (
    RecipeOrCommand,
    attribute_option,
    examples,
    folder_options,
    judge_options,
    project_of,
    recipe_or_command,
    request_of,
    resume_options,
    run_options,
    why_options,
)
from reprokit.cli.signing_options import key_of, sign, sign_option


@click.command(
    "reproduce",
    cls=RecipeOrCommand,
    short_help="Train twice, compare, hold against the golden, give a verdict.",
    epilog=examples(
        "reprokit reproduce cartpole_baseline",
        "reprokit reproduce cartpole_baseline --resume      # kill one, go on with it",
        "reprokit reproduce cartpole_baseline --attribute   # whose fault is it?",
        "reprokit reproduce -- python train.py --seed {seed} --logdir {run_dir}",
    ),
)
@click.argument("recipe", required=False, metavar="RECIPE | -- COMMAND…")
@click.option(
    "--ignore-metric",
    "ignore",
    multiple=True,
    metavar="PATTERN",
    help="Leave metrics out of the comparison, such as 'time/*' (plain commands only).",
)
@sign_option
@attribute_option
@why_options
@resume_options
@copy_option
@judge_options
@run_options
@folder_options
def command(recipe: str | None, ignore: tuple[str, ...], **options: Any) -> int:
    """Train twice with one seed, compare the runs with each other and with the golden, give a verdict.

    RECIPE is a folder under recipes/. A program without a recipe goes after --, with the placeholders
    {seed}, {run_dir} and {device}; it inherits your environment unchanged.
    """
    from reprokit import harness
    from reprokit.cli import show_report

    recipe, plain = recipe_or_command(recipe)
    if ignore and recipe:
        raise click.UsageError("--ignore-metric is for plain commands; a recipe declares its tolerances")
    if plain and (options["resume"] or options["stop_at"] is not None):
        raise click.UsageError("--resume is for recipes: nobody knows how a plain command goes on")
    if plain and options["vary"]:
        raise click.UsageError("--vary is for recipes, which say what they are immune to: reprokit diagnose")
    must_be_reachable(options["copy_to"])
    request, project = request_of(options, ignore=ignore), project_of(options)
    key = key_of(options["sign_with"])
    with show_report.progress() as progress:
        if recipe is not None:
            answer, folder = harness.reproduce(recipe, request, project=project, progress=progress)
        else:
            answer, folder = harness.reproduce_command(plain, request, project=project, progress=progress)
    sign(folder, key=key)
    show_report.to_github([answer])
    show_report.report(answer, folder=folder, as_json=options["as_json"])
    arrived = copied(answer.runs, options["copy_to"])
    return answer.exit_code if arrived or answer.exit_code == 1 else 3
