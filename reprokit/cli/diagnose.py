"""``reprokit diagnose``: where two runs first differ, and which line makes them differ."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from reprokit.cli.options import (
    RecipeOrCommand,
    examples,
    folder_options,
    ignore_option,
    json_option,
    number_option,
    plain_command,
    project_of,
    recipe_or_command,
    request_of,
    run_options,
)
from reprokit.cli.output import print_answer
from reprokit.cli.program_name import as_called


@click.command(
    "diagnose",
    cls=RecipeOrCommand,
    short_help="Find the line that makes two runs differ.",
    epilog=examples(
        "reprokit diagnose -- python train.py --seed {seed} --logdir {run_dir}",
        "reprokit diagnose cartpole_baseline",
        "reprokit diagnose --across here/runs/x/RUN there/runs/x/RUN",
    ),
)
@click.argument("recipe", required=False, metavar="RECIPE | -- COMMAND…")
@json_option()
@click.option(
    "--level",
    type=click.Choice(["light", "deep"]),
    default="light",
    show_default=True,
    help="deep: record every operation of PyTorch, even if a line was found.",
)
@number_option("--budget", least=2, default=60, help="Make at most about this many runs.")
@ignore_option()
@click.option("--vary", multiple=True, metavar="NAME", help="If runs are equal, vary only this; repeatable.")
@click.option(
    "--across",
    nargs=2,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="RUN RUN",
    help="Run nothing: compare two run folders from two machines.",
)
@click.option("--resume", is_flag=True, help="Compare a whole run with one that is stopped and resumed.")
@click.option(
    "--stop-args",
    metavar="WORDS",
    help="With --resume: arguments that stop the command early, or make it write a checkpoint on the way.",
)
@click.option(
    "--resume-args",
    metavar="WORDS",
    help="With --resume: arguments that resume it; {stopped_run_dir} is the stopped run's folder, or the "
    "whole run's without --stop-args. Of the files that fit a pattern the middle one is taken.",
)
@run_options
@folder_options
def command(
    recipe: str | None,
    as_json: bool,
    level: str,
    budget: int,
    ignore: tuple[str, ...],
    vary: tuple[str, ...],
    **options: Any,
) -> int:
    """Find out why two runs of a program differ.

    The values that one run drew at a suspicious line are replayed in another run, at that line only: if
    that makes the runs equal, the line is the cause. If two runs are equal, their environment is varied.

    Exit codes: 0 nothing differs; 1 the runs differ; 2 wrong usage, or nothing to compare; 3 could not run.
    """
    from reprokit.cli import show_report
    from reprokit.harness.diagnosing import Words, diagnose_command, diagnose_recipe, diagnose_resume
    from reprokit.harness.running import check_names, shell_line
    from reprokit.reports import diagnosis_page

    if (folders := options.pop("across")) is not None:
        return _show_across(folders, recipe, ignore=ignore, as_json=as_json)
    recipe, plain = recipe_or_command(recipe)
    if ignore and recipe:
        raise click.UsageError("--ignore-metric is for plain commands; a recipe declares tolerances")
    resume, stop, go_on = (options.pop(name) for name in ("resume", "stop_args", "resume_args"))
    if resume and (recipe or not go_on):
        raise click.UsageError("--resume needs --resume-args and a command; for a recipe: reproduce --resume")
    check_names(vary)
    request, project = request_of(options, ignore=ignore), project_of(options)
    how: dict[str, Any] = {"budget": budget, "deep": level == "deep", "vary": vary or None}
    with show_report.progress() as progress:
        if resume:
            words = Words(stop=stop or "", resume=go_on)
            found = diagnose_resume(plain, request, words, project=project, progress=progress)
        elif recipe is not None:
            found = diagnose_recipe(recipe, request, project=project, progress=progress, **how)
        else:
            found = diagnose_command(plain, request, project=project, progress=progress, **how)
    sentence = diagnosis_page.headline(found, root=Path.cwd())
    _keep_page(found, subject=recipe or shell_line(plain), sentence=sentence)
    _annotate(found.as_data())
    page = diagnosis_page.page_lines(found, root=Path.cwd())
    again = (as_called(f"Again: {line}") for line in found.replay)
    print_answer((*page, *again), data=found.as_data, as_json=as_json)
    return 1 if found.verdict == "NONDETERMINISTIC" else 0


def _show_across(
    folders: tuple[Path, Path], recipe: str | None, *, ignore: tuple[str, ...], as_json: bool
) -> int:
    """Print how two runs of two machines differ; returns 1 if they do."""
    from reprokit.harness.diagnosing import across
    from reprokit.reports import across_page

    if recipe is not None or plain_command() is not None:
        raise click.UsageError("--across runs nothing: leave recipe and command out")
    found = across(*folders, ignore=ignore)
    print_answer(across_page.page_lines(found), data=found.as_data, as_json=as_json)
    return 1 if found.verdict == "NONDETERMINISTIC" else 0


def _keep_page(found: Any, *, subject: str, sentence: str) -> None:
    """Write ``diagnosis.html`` beside ``diagnosis.json``."""
    from reprokit import workspace
    from reprokit.reports import shorten, to_html

    text = to_html.diagnosis_to_html(
        shorten.below(found.as_data(), str(Path.cwd())), subject=subject, sentence=sentence
    )
    workspace.write_atomic(found.folder / "diagnosis.html", text.encode("utf-8"))


def _annotate(found: dict[str, Any]) -> None:
    """On GitHub: an error on the line of every cause (its runner reads stderr too)."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    from reprokit.reports import shorten, to_github

    root = os.environ.get("GITHUB_WORKSPACE") or str(Path.cwd())
    for line in to_github.cause_commands(shorten.below(found, root)):
        click.echo(line, err=True)
