"""``reprokit verify``: reproduce every recipe, as a gate in CI."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.extensions import additions, answer_of, feature_options, finishing
from reprokit.cli.help_pages import Command, Title, titled
from reprokit.cli.named_extensions import must_be_of
from reprokit.cli.options import (
    attribute_option,
    examples,
    exclusive_option,
    folder_options,
    judge_options,
    project_of,
    request_of,
    resume_options,
    run_options_with,
    why_options,
)
from reprokit.cli.output import fitted_lines, print_json
from reprokit.session import Session

if TYPE_CHECKING:
    from reprokit.harness import GateAnswer
    from reprokit.project import Project


@click.command(
    "verify",
    cls=Command,
    common="golden changed backend verbose json",
    short_help="Reproduce every recipe of this platform: the gate for CI.",
    epilog=examples(
        "reprokit verify --golden golden/",
        "reprokit verify cartpole_baseline --backend local",
        "reprokit verify --changed origin/main    # only what could have moved since",
        "reprokit verify --vary    # under varied conditions too",
        "reprokit verify cartpole_baseline --statistical    # as good as before?",
        "reprokit verify --cpu Haswell,EPYC,Skylake-Server",
        "reprokit verify --on ray    # on every kind of CPU of a cluster",
    ),
)
@click.argument("recipes", nargs=-1, metavar="[RECIPE…]")
@feature_options("verify")
@titled(
    Title.JUDGING,
    click.option(
        "--changed",
        metavar="COMMIT",
        help="Leave out recipes whose numbers cannot have moved since COMMIT, and say which.",
    ),
    click.option(
        "--extensions-from",
        "extensions_from",
        metavar="COMMIT",
        help="Load the extensions that pyproject.toml of COMMIT names, whatever it names now: for gates.",
    ),
    click.option(
        "--statistical",
        is_flag=True,
        help="Where bits differ from the golden, run new seeds and compare them with the ensemble.",
    ),
    click.option(
        "--watch-golden/--no-watch-golden",
        default=True,
        show_default=True,
        help="Stop a pair as soon as both differ from the golden; not with --resume, --vary, --same-under, "
        "--rounding, --statistical.",
    ),
)
@titled(
    Title.WRITTEN,
    click.option(
        "--gate-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write every recipe's answer as JSON, for `reprokit report comment`.",
    ),
    click.option(
        "--html",
        "html",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Also write a page: one row per recipe, with verdict, sentence and next step.",
    ),
)
@attribute_option
@why_options
@resume_options
@judge_options
@run_options_with(default_seed="every seed that the recipe declares or that has a golden")
@exclusive_option
@folder_options
def command(recipes: tuple[str, ...], **options: Any) -> int:
    """Reproduce every recipe that declares this platform, or those named, and compare each with its golden.

    A missing golden is NO_GOLDEN (4); no recipe at all is 4, never 0. With several recipes the exit
    code is the first of 130, 143, 1, 3, 2, 4, 0 that occurs.

    With --statistical, bits that differ do not decide: up to ten new seeds are run, and compared with the
    ensemble that `reprokit golden promote --sweep` made. EQUIVALENT is exit code 0.

    With --cpu only the first updates are made, natively and on each emulated CPU, and compared with the
    golden's trace; if they differ, the operation whose bits differ there is named.

    With --on two new runs of each recipe and seed are made on every kind of CPU of a cluster, and each pair
    is judged; a machine that is busy is 4, never a pass. The matrix is also a page below the reports.
    """
    must_be_of(options["extensions_from"])
    answered = answer_of("verify", {**options, "recipes": recipes})
    if answered is not None:
        return answered
    from reprokit import harness
    from reprokit.cli import show_report
    from reprokit.reports.formats import to_json

    project = project_of(options)
    _clear(options["gate_file"], project=project)  # before anything else can end this call
    if options["html"]:
        options["html"].unlink(missing_ok=True)  # likewise
    request, finish = request_of(options), finishing("verify", options)
    with show_report.progress() as progress:
        answers = harness.verify(
            request,
            session=Session(project=project, progress=progress),
            names=recipes,
            changed=options["changed"],
        )
        reports = [answer.report for answer in answers if answer.report is not None]
        session = Session(project=project, progress=progress)
        added = additions(reports, options, session)
    for answer in answers:
        finish(answer.folder)
    replaced = (addition.exit_code for addition in added if addition.exit_code is not None)
    code = next(replaced, harness.gate_code(answers))
    _record(answers, code, file=options["gate_file"])
    _draw(answers, code, file=options["html"], project=project)
    show_report.to_github(
        reports, gate=harness.gate_record(answers, exit_code=code, folder=project.reports_dir)
    )
    if options["as_json"]:
        rows = [
            to_json.to_dict(answer.report)
            if answer.report
            else {"recipe": answer.recipe, "left_out": answer.left_out}
            if answer.left_out
            else {"recipe": answer.recipe, "error": answer.error}
            for answer in answers
        ]
        further = {key: value for addition in added for key, value in addition.data.items()}
        print_json({"exit_code": code, "reports": rows, **further})
        return code
    show_report.gate(answers, verbose=options["verbose"])
    for addition in added:
        for line in fitted_lines(addition.lines):
            click.echo(line)
    return code


def _draw(answers: Sequence[GateAnswer], code: int, *, file: Path | None, project: Project) -> None:
    """The answers as a page, which names the page of each report by its path from there."""
    if file is None:
        return
    from reprokit import harness
    from reprokit.cli.html_page import write_page
    from reprokit.reports import PAGE
    from reprokit.reports.pages import gate_page

    earlier = harness.earlier_reports(answers, project=project, folder=file.parent)
    entries = [
        gate_page.GateEntry(
            recipe=answer.recipe,
            exit_code=answer.exit_code,
            report=answer.report,
            place=os.path.relpath(answer.folder / PAGE, file.parent) if answer.folder else "",
            error=answer.error,
            left_out=answer.left_out,
            earlier=before,
        )
        for answer, before in zip(answers, earlier, strict=True)
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    write_page(gate_page.gate_to_html(entries, exit_code=code), path=file)


def _clear(file: Path | None, *, project: Project) -> None:
    """Remove the answers of an earlier gate, which would stand for this one if it crashed."""
    if file is not None:
        from reprokit import harness

        harness.must_hold_reports(file, project=project)
        file.unlink(missing_ok=True)


def _record(answers: Sequence[GateAnswer], code: int, *, file: Path | None) -> None:
    if file is not None:
        from reprokit import harness, workspace
        from reprokit.reports import gate_record

        record = harness.gate_record(answers, exit_code=code, folder=file.parent)
        file.parent.mkdir(parents=True, exist_ok=True)
        workspace.write_named(file, gate_record.gate_json(record).encode("ascii"))
