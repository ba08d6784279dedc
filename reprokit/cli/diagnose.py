"""``reprokit diagnose``: where two runs begin to differ, and which line makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from reprokit.harness.diagnosed import Diagnosis

_MOST_TAPS = 12


@click.command(
    "diagnose",
    cls=RecipeOrCommand,
    short_help="Name the line that makes two runs differ.",
    epilog=examples(
        "reprokit diagnose -- python train.py --seed {seed} --logdir {run_dir}",
        "reprokit diagnose cartpole_baseline",
    ),
)
@click.argument("recipe", required=False, metavar="RECIPE | -- COMMAND…")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@click.option(
    "--level",
    type=click.Choice(["light", "deep"]),
    default="light",
    show_default=True,
    help="deep: watch every operation of PyTorch, even where a line was found.",
)
@click.option("--budget", type=click.IntRange(min=2), default=60, show_default=True, metavar="N",
              help="Make at most about this many runs.")  # fmt: skip
@click.option(
    "--ignore-metric", "ignore", multiple=True, metavar="PATTERN",
    help="Leave metrics out of the comparison, such as 'time/*' (plain commands only).",
)  # fmt: skip
@click.option("--resume", is_flag=True, help="Hold a whole run against one that is stopped and resumed.")
@click.option("--stop-args", metavar="WORDS", help="What stops the command on its way (with --resume).")
@click.option(
    "--resume-args",
    metavar="WORDS",
    help="What makes it go on; {stopped_run_dir} is the stopped run's folder.",
)
@run_options
@folder_options
def command(
    recipe: str | None, as_json: bool, level: str, budget: int, ignore: tuple[str, ...], **options: Any
) -> int:
    """Run a program under watch, and find out why two runs of it differ.

    What one run drew at a suspicious line is given to another run at that line only: where that makes the
    runs equal, the line is the cause. Where runs are equal, the surroundings are varied too.

    Exit codes: 0 nothing differs; 1 the runs differ; 2 wrong usage, or nothing to compare; 3 could not run.
    """
    import json

    from reprokit.cli import show
    from reprokit.harness.diagnose import diagnose_command, diagnose_recipe
    from reprokit.harness.diagnose_resume import Words, diagnose_resume

    recipe, plain = recipe_or_command(recipe)
    if ignore and recipe:
        raise click.UsageError("--ignore-metric is for plain commands; a recipe declares its tolerances")
    resume, stop, go_on = (options.pop(name) for name in ("resume", "stop_args", "resume_args"))
    if resume and (recipe or not stop or not go_on):
        raise click.UsageError(
            "--resume wants --stop-args, --resume-args and a command; for a recipe: reproduce --resume"
        )
    request, project = request_of(options, ignore=ignore), project_of(options)
    with show.progress() as progress:
        if resume:
            words = Words(stop=stop, resume=go_on)
            found = diagnose_resume(plain, request, words, project=project, progress=progress)
        elif recipe is not None:
            found = diagnose_recipe(
                recipe, request, project=project, progress=progress, budget=budget, deep=level == "deep"
            )
        else:
            found = diagnose_command(
                plain, request, project=project, progress=progress, budget=budget, deep=level == "deep"
            )
    click.echo(json.dumps(found.as_data(), indent=2) if as_json else "\n".join(_page(found)))
    return 1 if found.verdict == "NONDETERMINISTIC" else 0


def _page(found: Diagnosis) -> list[str]:
    from reprokit.cli.called import as_called
    from reprokit.cli.tables import shown

    lines = [_headline(found)]
    for cause in found.causes:
        place = f"{shown(cause.file)}:{cause.line}" if cause.file else "no line"
        lines += [f"  cause: {cause.category} at {place}: {shown(cause.what)}", f"  fix: {shown(cause.fix)}",
                  f"  confidence: {cause.confidence}"]  # fmt: skip
    lines += [f"  known: {shown(one)}" for one in found.known]
    if found.ruled_out:
        lines.append("Ruled out:")
        lines += [f"  {shown(one.what)}: {shown(one.how)}" for one in found.ruled_out[:_MOST_TAPS]]
    if found.taps:
        lines.append("Lines that draw on surroundings:")
        lines += [
            f"  {one.category:<22}{shown(one.file)}:{one.line}  {one.count} times"
            + (", differs" if one.differs else "")
            for one in found.taps[:_MOST_TAPS]
        ]
    lines.append(f"{found.runs} runs, kept in {shown(str(found.folder))}")
    return [*lines, *(as_called(f"Again: {one}") for one in found.replay)]


def _headline(found: Diagnosis) -> str:
    from reprokit.cli.tables import shown

    first = found.divergence
    if first is None:
        return "REPEATABLE: nothing differs, under equal surroundings nor under varied ones"
    where = f"first differs at step {first.step}, {shown(str(first.metric))}" if first.metric else "differs"
    varied = f", once {found.variation.replace('_', ' ')} changes" if found.variation else ""
    unknown = "" if found.causes else "; cause unknown: no experiment made the runs equal"
    return f"NONDETERMINISTIC: {where} ({first.expected} and {first.actual}){varied}{unknown}"
