"""``reprokit reproduce``: train twice, compare, judge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from reprokit.cli.copy_option import copied, copy_option, must_be_reachable
from reprokit.cli.extensions import extensions, feature_options, finishing
from reprokit.cli.options import (
    RecipeOrCommand,
    attribute_option,
    examples,
    exclusive_option,
    folder_options,
    ignore_option,
    judge_options,
    output_option,
    plan_stress,
    project_of,
    recipe_or_command,
    request_of,
    resume_options,
    run_options,
    stress_options,
    why_options,
)
from reprokit.layout import PROVENANCE
from reprokit.session import Session


@click.command(
    "reproduce",
    cls=RecipeOrCommand,
    common="seed golden backend verbose json",
    short_help="Train twice, compare the runs and the golden, give a verdict.",
    epilog=examples(
        "reprokit reproduce cartpole_baseline",
        "reprokit reproduce cartpole_baseline --resume      # kill and resume a run",
        "reprokit reproduce cartpole_baseline --attribute   # code or environment?",
        "reprokit reproduce --repeats 40 --stress -- python train.py {run_dir}",
        "reprokit reproduce -- python train.py --seed {seed} --logdir {run_dir}",
        "reprokit reproduce --golden golden -- python train.py {seed} {run_dir}",
        "reprokit reproduce cartpole.tar.gz --sha256 DIGEST         # from a bundle",
    ),
)
@click.argument("recipe", required=False, metavar="RECIPE | FILE.tar.gz | -- COMMAND…")
@feature_options("reproduce")
@ignore_option()
@output_option()
@attribute_option
@why_options
@stress_options
@resume_options
@copy_option
@judge_options
@run_options
@exclusive_option
@folder_options
def command(recipe: str | None, ignore: tuple[str, ...], **options: Any) -> int:
    """Train twice with one seed, compare the runs with each other and with the golden, give a verdict.

    RECIPE is a folder under recipes/. A program without a recipe goes after --, with the placeholders
    {seed}, {run_dir} and {device}; it inherits your environment unchanged. With --golden it is compared with
    its golden in that folder, which `reprokit golden promote RUN RUN` makes from such runs.
    FILE is a bundle: someone else's code, which runs in a container only, unless you type --backend local.
    """
    from reprokit import harness
    from reprokit.cli import show_report

    recipe, plain = recipe_or_command(recipe)
    asked = {**options, "ignore": ignore}
    of_features = [each.reproduces(recipe, asked) for each in extensions("reproduce") if each.reproduces]
    reproduce_it = next(filter(None, of_features), None)
    if ignore and recipe:
        raise click.UsageError(
            "--ignore-metric is for plain commands; a recipe declares `volatile` (metric, because)"
        )
    if options["outputs"] and recipe:
        raise click.UsageError("--output is for plain commands; a recipe declares `outputs`")
    if plain and (options["resume"] or options["stop_at"] is not None):
        raise click.UsageError("--resume is for recipes; for a plain command: reprokit diagnose --resume")
    plan_stress(options, plain=bool(plain), of_feature=reproduce_it is not None)
    if plain and options["vary"]:
        raise click.UsageError("--vary is for recipes with immune_to; for a plain command: reprokit diagnose")
    must_be_reachable(options["copy_to"])
    request, project = request_of(options, ignore=ignore), project_of(options)
    if plain and options["golden_dir"] is not None:
        request = replace(request, against_golden=True)
        _must_hold_goldens(project.golden_dir)
    finish = finishing("reproduce", options)
    with show_report.progress() as progress:
        session = Session(project=project, progress=progress)
        if reproduce_it is not None:
            answer, folder = reproduce_it(request, session)
        elif recipe is not None:
            answer, folder = harness.reproduce(recipe, request, session=session)
        else:
            answer, folder = harness.reproduce_command(plain, request, session=session)
    finish(folder)
    show_report.to_github([answer])
    show_report.report(answer, folder=folder, as_json=options["as_json"], verbose=options["verbose"])
    arrived = copied(answer.runs, options["copy_to"])
    return answer.exit_code if arrived or answer.exit_code == 1 else 3


def _must_hold_goldens(folder: Path) -> None:
    """Refuse one golden in the place of a folder of goldens."""
    if (folder / PROVENANCE).exists():
        above = folder.parents[2]
        raise click.UsageError(f"--golden {folder} is a golden; name the folder of goldens: --golden {above}")
