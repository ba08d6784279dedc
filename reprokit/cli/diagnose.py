"""``reprokit diagnose``: where two runs begin to differ, and which line makes them."""

from __future__ import annotations

from pathlib import Path
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
    from reprokit.diagnosis import Cause
    from reprokit.harness.diagnosing import Diagnosis

_MOST_TAPS = 12


@click.command(
    "diagnose",
    cls=RecipeOrCommand,
    short_help="Name the line that makes two runs differ.",
    epilog=examples(
        "reprokit diagnose -- python train.py --seed {seed} --logdir {run_dir}",
        "reprokit diagnose cartpole_baseline",
        "reprokit diagnose --across here/runs/x/RUN there/runs/x/RUN",
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
@click.option(
    "--budget",
    type=click.IntRange(min=2),
    default=60,
    show_default=True,
    metavar="N",
    help="Make at most about this many runs.",
)
@click.option(
    "--ignore-metric",
    "ignore",
    multiple=True,
    metavar="PATTERN",
    help="Leave metrics out of the comparison, such as 'time/*' (plain commands only).",
)
@click.option(
    "--vary",
    "vary",
    multiple=True,
    metavar="NAME",
    help="Where runs are equal, vary only this; for what takes long, such as cpu_model.",
)
@click.option(
    "--across",
    nargs=2,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="RUN RUN",
    help="Run nothing: hold two run folders from two machines against each other.",
)
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
    recipe: str | None,
    as_json: bool,
    level: str,
    budget: int,
    ignore: tuple[str, ...],
    vary: tuple[str, ...],
    **options: Any,
) -> int:
    """Run a program under watch, and find out why two runs of it differ.

    What one run drew at a suspicious line is given to another run at that line only: where that makes the
    runs equal, the line is the cause. Where runs are equal, the surroundings are varied too.

    Exit codes: 0 nothing differs; 1 the runs differ; 2 wrong usage, or nothing to compare; 3 could not run.
    """
    import json

    from reprokit.cli import show_report
    from reprokit.cli.diagnose_across import show_across
    from reprokit.cli.diagnose_output import annotate, keep_page
    from reprokit.harness.diagnosing import Words, diagnose_command, diagnose_recipe, diagnose_resume
    from reprokit.harness.running import check_names, shell_line

    if (folders := options.pop("across")) is not None:
        return show_across(folders, recipe, ignore=ignore, as_json=as_json)
    recipe, plain = recipe_or_command(recipe)
    if ignore and recipe:
        raise click.UsageError("--ignore-metric is for plain commands; a recipe declares its tolerances")
    resume, stop, go_on = (options.pop(name) for name in ("resume", "stop_args", "resume_args"))
    if resume and (recipe or not stop or not go_on):
        raise click.UsageError(
            "--resume wants --stop-args, --resume-args and a command; for a recipe: reproduce --resume"
        )
    check_names(vary)
    request, project = request_of(options, ignore=ignore), project_of(options)
    how: dict[str, Any] = {"budget": budget, "deep": level == "deep", "vary": vary or None}
    with show_report.progress() as progress:
        if resume:
            words = Words(stop=stop, resume=go_on)
            found = diagnose_resume(plain, request, words, project=project, progress=progress)
        elif recipe is not None:
            found = diagnose_recipe(recipe, request, project=project, progress=progress, **how)
        else:
            found = diagnose_command(plain, request, project=project, progress=progress, **how)
    keep_page(found, subject=recipe or shell_line(plain), sentence=_headline(found))
    annotate(found.as_data())
    click.echo(json.dumps(found.as_data(), indent=2) if as_json else "\n".join(_page(found)))
    return 1 if found.verdict == "NONDETERMINISTIC" else 0


def _page(found: Diagnosis) -> list[str]:
    from reprokit.cli.diagnose_output import not_seen, ruled_out
    from reprokit.cli.program_name import as_called
    from reprokit.cli.tables import shown

    lines = [_headline(found), *_beginning(found)]
    for cause in found.causes:
        place = f"{shown(_near(cause.file))}:{cause.line}" if cause.file else "no line"
        lines += [
            f"  cause: {cause.category} at {place}: {shown(cause.what)}",
            f"  fix: {shown(cause.fix)}",
            f"  confidence: {_confidence(cause)}",
        ]
    lines += [f"  known: {shown(one)}" for one in found.known]
    lines += ruled_out(found)
    if found.taps:
        lines.append("Lines that draw on surroundings:")
        lines += [
            f"  {one.category:<22}{shown(one.file)}:{one.line}  {one.count} times"
            + (", differs" if one.differs else "")
            for one in sorted(found.taps, key=lambda one: not one.differs)[:_MOST_TAPS]
        ]
    lines += not_seen(found)
    lines.append(f"{found.runs} runs, kept in {shown(str(found.folder))}")
    return [*lines, *(as_called(f"Again: {one}") for one in found.replay)]


def _headline(found: Diagnosis) -> str:
    """Where, what, which line, and what would mend it: one sentence."""
    from reprokit.cli.tables import shown

    if found.divergence is None:
        varied = f"nothing differs in {found.runs} runs, under equal surroundings or varied ones"
        return f"REPEATABLE: {found.equality or varied}"
    varied = f", once {found.variation.replace('_', ' ')} changes" if found.variation else ""
    where, cause = _where(found), found.cause
    if cause is None:
        return f"NONDETERMINISTIC: {where}{varied}; cause unknown: no experiment shows one"
    fix = f"; fix: {shown(cause.fix)}" if cause.fix else ""
    return f"NONDETERMINISTIC: {where}{varied}; {_sure(cause)}: {shown(_said(cause))}{fix}"


def _sure(cause: Cause) -> str:
    return {"high": "cause", "low": "suspected cause"}.get(cause.confidence, "cause, probably")


def _confidence(cause: Cause) -> str:
    """The confidence, and why it is not high."""
    if cause.confidence == "high":
        return cause.confidence
    missing = "no run differed in which this alone was left to chance"
    if cause.category == "resume_state":
        missing = "no experiment brought it back"
    if cause.category == "simulator":
        missing = "it did not answer otherwise in a process of its own"
    return f"{cause.confidence}, not high: {missing}"


def _said(cause: Cause) -> str:
    """What a cause does, with its place: ``np.random.shuffle at train.py:88 draws from …``."""
    subject, _, rest = cause.what.rpartition(": ")
    if not cause.file:
        return cause.what
    place = f"{_near(cause.file)}:{cause.line}"
    return f"{subject} at {place} {rest}" if subject else f"{place}: {rest}"


def _near(path: str) -> str:
    """A path as one would type it from here."""
    here = Path(path)
    return str(here.relative_to(Path.cwd())) if here.is_relative_to(Path.cwd()) else path


def _where(found: Diagnosis) -> str:
    from reprokit import diagnosis
    from reprokit.cli.tables import shown

    if found.began is not None:
        place, what = diagnosis.place_of(found.began), diagnosis.stream_of(found.began)
        exactly = "" if found.began.single else " or before"
        return f"first differs at {place}{exactly}, in {shown(what)}"
    first = found.divergence
    if first is None or not first.metric:
        return "differs"
    return f"first differs at step {first.step}, in {shown(str(first.metric))}"


def _beginning(found: Diagnosis) -> list[str]:
    """The evidence in its order: what was equal, what was not, and what the metrics then show."""
    from reprokit.cli.tables import shown

    lines, began, first = [], found.began, found.divergence
    if began is not None:
        equal = began.equal_before or "nothing that was looked at"
        lines.append(f"  still equal just before: {shown(equal)}")
        if len(began.streams) > 1:
            lines.append(f"  differs there: {shown(', '.join(began.streams))}")
        lines += [
            f"  another state from update {at} on: {shown(name)}" for name, at in began.generators.items()
        ]
    if first is not None and first.metric:
        told = f"{first.expected} and {first.actual}"
        lines.append(f"  first metric that differs: step {first.step}, {shown(str(first.metric))} ({told})")
    return lines
