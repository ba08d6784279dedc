"""``reprokit diagnose``: where two runs first differ, and which line makes them differ."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.help_pages import Title, titled
from reprokit.cli.options import (
    DEFAULTS,
    RecipeOrCommand,
    examples,
    folder_options,
    ignore_option,
    json_option,
    number_option,
    output_option,
    plain_command,
    project_of,
    recipe_or_command,
    request_of,
    run_options,
)
from reprokit.cli.output import print_answer
from reprokit.cli.program_name import as_called
from reprokit.session import Session

if TYPE_CHECKING:
    from reprokit.harness.diagnosing import Diagnosis, InterruptedDiagnosisError

_LEAST_RUNS, _MOST_RUNS = 2, 1_000_000
_STRESSED_RUNS = 40
#: What stands for the usual bounds, in runs and in seconds.
_USUAL, _USUAL_BOUNDS = "15m", (60, 900.0)
_UNITS_S = {"s": 1, "m": 60, "h": 3600}


class _Budget(click.ParamType[tuple[int, float | None]]):
    """A number of runs, or a time that all runs together may take."""

    name = "budget"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, float | None]:
        if value == _USUAL:
            return _USUAL_BOUNDS
        found = re.fullmatch(r"([1-9][0-9]{0,5})([smh]?)", str(value), re.ASCII)
        if found is None or (not found[2] and int(found[1]) < _LEAST_RUNS):
            self.fail(f"{value!r} is neither a number of runs from 2 on nor a time such as 10m", param, ctx)
        number, unit = int(found[1]), found[2]
        return (_MOST_RUNS, float(number * _UNITS_S[unit])) if unit else (number, None)


@click.command(
    "diagnose",
    cls=RecipeOrCommand,
    common="seed budget ignore-metric backend json",
    short_help="Find the line that makes two runs differ.",
    epilog=examples(
        "reprokit diagnose -- python train.py --seed {seed} --logdir {run_dir}",
        "reprokit diagnose cartpole_baseline",
        "reprokit diagnose --stress --repeats 60 -- python train.py {run_dir}",
        "reprokit diagnose --across here/runs/x/RUN there/runs/x/RUN",
    ),
)
@click.argument("recipe", required=False, metavar="RECIPE | -- COMMAND…")
@json_option()
@click.option(
    "--budget",
    type=_Budget(),
    default=_USUAL,
    show_default=True,
    metavar="N|TIME",
    help="Take at most this long, such as 900s or 15m; or make at most about this many runs.",
)
@ignore_option()
@output_option()
@titled(
    Title.QUESTIONS,
    number_option(
        "--repeats",
        least=2,
        most=1000,
        default=DEFAULTS.repeats,
        help="Record at most N runs, until one differs; 40 with --stress.",
    ),
    click.option("--stress", is_flag=True, help="Disturb the runs, as `reproduce --stress` does."),
    click.option(
        "--level",
        type=click.Choice(["light", "deep"]),
        default="light",
        show_default=True,
        help="deep: record every operation of PyTorch, even if a line was found.",
    ),
    click.option(
        "--vary", multiple=True, metavar="NAME", help="If runs are equal, vary only this; repeatable."
    ),
    click.option(
        "--across",
        nargs=2,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="RUN RUN",
        help="Run nothing: compare two run folders from two machines.",
    ),
)
@titled(
    "A training that is stopped and resumed",
    click.option("--resume", is_flag=True, help="Compare a whole run with one that is stopped and resumed."),
    click.option(
        "--stop-args",
        metavar="WORDS",
        help="Arguments that stop the command early, or make it write a checkpoint on the way.",
    ),
    click.option(
        "--resume-args",
        metavar="WORDS",
        help="Arguments that resume it; {stopped_run_dir} is the stopped run's folder, or the whole run's "
        "without --stop-args. Of the files that fit a pattern the middle one is taken.",
    ),
)
@run_options
@folder_options
def command(
    recipe: str | None,
    as_json: bool,
    level: str,
    budget: tuple[int, float | None],
    ignore: tuple[str, ...],
    vary: tuple[str, ...],
    **options: Any,
) -> int:
    """Find out why two runs of a program differ.

    The values that one run drew at a suspicious line are replayed in another run, at that line only: if
    that makes the runs equal, the line is the cause. If two runs are equal, their environment is varied.

    Exit codes: 0 nothing differs; 1 the runs differ; 2 wrong usage, or nothing to compare; 3 could not run;
    4 a variation named by --vary was not made.
    """
    from reprokit.cli import show_report
    from reprokit.harness.diagnosing import (
        InterruptedDiagnosisError,
        Words,
        diagnose_command,
        diagnose_recipe,
        diagnose_resume,
    )
    from reprokit.harness.running import check_names, shell_line

    if (folders := options.pop("across")) is not None:
        return _show_across(folders, recipe, ignore=ignore, as_json=as_json)
    recipe, plain = recipe_or_command(recipe)
    if ignore and recipe:
        raise click.UsageError(
            "--ignore-metric is for plain commands; a recipe declares `volatile` (metric, because)"
        )
    if options["outputs"] and recipe:
        raise click.UsageError("--output is for plain commands; a recipe declares `outputs`")
    resume, stop, go_on = (options.pop(name) for name in ("resume", "stop_args", "resume_args"))
    if resume and (recipe or not go_on):
        raise click.UsageError("--resume needs --resume-args and a command; for a recipe: reproduce --resume")
    if resume and options["outputs"]:
        raise click.UsageError("--output does not go with --resume, which aligns the records of metrics")
    check_names(vary)
    options["repeats"] = _recordings(options, resume=resume)
    request, project = request_of(options, ignore=ignore), project_of(options)
    more = options["repeats"] - _LEAST_RUNS if budget == _USUAL_BOUNDS else 0
    how: dict[str, Any] = {
        "budget": budget[0] + more,
        "budget_s": budget[1],
        "deep": level == "deep",
        "vary": vary or None,
    }
    interrupted: InterruptedDiagnosisError | None = None
    try:
        with show_report.progress() as progress:
            if resume:
                words = Words(stop=stop or "", resume=go_on)
                session = Session(project=project, progress=progress)
                found = diagnose_resume(plain, request, words, session=session, uninterrupted=how)
            elif recipe is not None:
                found = diagnose_recipe(
                    recipe, request, session=Session(project=project, progress=progress), **how
                )
            else:
                found = diagnose_command(
                    plain, request, session=Session(project=project, progress=progress), **how
                )
    except InterruptedDiagnosisError as error:
        interrupted, found = error, error.found
    code = _show(found, subject=recipe or shell_line(plain), as_json=as_json)
    if interrupted is not None:
        raise interrupted
    return code


def _recordings(options: dict[str, Any], *, resume: bool) -> int:
    """How many runs are recorded at most until one differs."""
    typed = click.get_current_context().get_parameter_source("repeats")
    is_usual = typed is click.core.ParameterSource.DEFAULT
    if resume and (options["stress"] or not is_usual):
        raise click.UsageError("--resume goes with neither --stress nor --repeats")
    return _STRESSED_RUNS if options["stress"] and is_usual else int(options["repeats"])


def _show(found: Diagnosis, *, subject: str, as_json: bool) -> int:
    """Keep and print the answer; returns 1 if the runs differ, 4 if what was asked for was not varied."""
    from reprokit.reports.pages import diagnosis_page
    from reprokit.reports.terminal import diagnosis_screen, terminal_style

    root = Path.cwd()
    sentence = diagnosis_page.headline(found, root=root)
    _keep_page(found, subject=subject, sentence=sentence)
    _annotate(found.as_data())
    again = [as_called(line) for line in found.replay]
    style = terminal_style.style_of(sys.stdout, environ=os.environ)
    if style.is_terminal and not as_json:
        text = diagnosis_screen.draw(found, subject=subject, root=root, again=again, style=style)
        click.echo(text, nl=False, color=style.color)
    else:
        shown = diagnosis_page.first_lines(found, again=[f"Again: {line}" for line in again], root=root)
        print_answer(shown, data=found.as_data, as_json=as_json)
    return {"NONDETERMINISTIC": 1, "UNJUDGED": 4}.get(found.verdict, 0)


def _show_across(
    folders: tuple[Path, Path], recipe: str | None, *, ignore: tuple[str, ...], as_json: bool
) -> int:
    """Print how two runs of two machines differ; returns 1 if they do."""
    from reprokit.harness.diagnosing import across
    from reprokit.reports.pages import across_page

    if recipe is not None or plain_command() is not None:
        raise click.UsageError("--across runs nothing: leave recipe and command out")
    found = across(*folders, ignore=ignore)
    print_answer(across_page.page_lines(found), data=found.as_data, as_json=as_json)
    return 1 if found.verdict == "NONDETERMINISTIC" else 0


def _keep_page(found: Any, *, subject: str, sentence: str) -> None:
    """Write ``diagnosis.html`` next to ``diagnosis.json``, or say what it needs."""
    from reprokit import extras, workspace
    from reprokit.reports import shorten
    from reprokit.reports.formats import to_html

    if not extras.is_installed("jinja2"):
        click.echo(f"note: there is no diagnosis.html without Jinja: {extras.install_line('html')}", err=True)
        return
    text = to_html.diagnosis_to_html(
        shorten.below(found.as_data(), str(Path.cwd())), subject=subject, sentence=sentence
    )
    workspace.write_atomic(found.folder / "diagnosis.html", text.encode("utf-8"))


def _annotate(found: dict[str, Any]) -> None:
    """On GitHub: an error on the line of every cause (its runner reads stderr too)."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    from reprokit.reports import shorten
    from reprokit.reports.formats import to_github

    root = os.environ.get("GITHUB_WORKSPACE") or str(Path.cwd())
    for line in to_github.cause_commands(shorten.below(found, root)):
        click.echo(line, err=True)
