"""Show progress and reports: messages on stderr, data on stdout."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reprokit.core import checklist
    from reprokit.harness import GateAnswer
    from reprokit.reports import gate_record
    from reprokit.reports import progress as progress_display


@contextmanager
def progress() -> Iterator[progress_display.ProgressDisplay]:
    """The progress display, on stderr."""
    from reprokit.reports import progress as progress_display

    with progress_display.ProgressDisplay() as display:
        yield display


def report(answer: checklist.Report, *, folder: Path | None, as_json: bool, verbose: bool = False) -> None:
    """Print a report as JSON, or as one screen (all of it if ``verbose``) with the path of its files."""
    from reprokit.reports.formats import to_json
    from reprokit.reports.terminal import terminal_lines, terminal_style, to_terminal

    if as_json:
        click.echo(to_json.to_json(answer), nl=False)
        return
    to_terminal.show(_from_here(answer), verbose=verbose)
    if folder is not None:
        path = f"{str(folder).removeprefix(f'{Path.cwd()}/')}/{_page()}"
        style = terminal_style.style_of(sys.stdout, environ=os.environ)
        if style.is_terminal:
            click.echo("\n".join(["", *terminal_lines.place_lines("Report:", path, width=style.width)]))
        else:
            click.echo(f"Report: {path}")


def notebook(answer: checklist.Report) -> None:
    """Print a report as HTML that a notebook shows."""
    from reprokit.reports.formats import to_notebook

    click.echo(to_notebook.to_notebook(answer), nl=False)


def write_pdf(answer: checklist.Report, path: Path) -> None:
    """Write a report as a PDF, and say where it is.

    Raises:
        MissingExtraError: What draws it is not installed.
        WorkspaceError: It cannot be written.
    """
    from reprokit import workspace
    from reprokit.reports import one_line
    from reprokit.reports.formats import to_pdf

    workspace.write_named(path, to_pdf.to_pdf(answer))
    click.echo(f"PDF: {one_line(path)}", err=True)


def _page() -> str:
    """What a person opens of a report, and how its page is had where none was drawn."""
    from reprokit import extras

    if extras.is_installed("jinja2"):
        return "report.html"
    return f"report.md (a page: {extras.install_line('html')})"


def _from_here(answer: checklist.Report) -> checklist.Report:
    """The report with paths relative to the working directory, and commands as they can be typed there."""
    import dataclasses

    from reprokit.cli.program_name import as_called
    from reprokit.reports import shorten

    relative = shorten.without(PurePosixPath(Path.cwd()))

    def short(text: str) -> str:
        return as_called(relative(text))

    return dataclasses.replace(shorten.with_texts(answer, short), rerun=short(answer.rerun))


def gate(answers: Sequence[GateAnswer], *, verbose: bool = False) -> None:
    """Every report, then one line for each recipe: the verdict, or why there is none.

    Of several reports in a pipe only those are shown that are not good, unless ``verbose``: the lines of the
    others say it all.
    """
    from reprokit.reports import one_line

    if not answers:
        click.echo("No recipe was judged: none declares this platform.")
        return
    whole = verbose or len(answers) == 1 or sys.stdout.isatty()
    for answer in answers:
        if answer.report is not None and (whole or answer.report.exit_code):
            report(answer.report, folder=answer.folder, as_json=False, verbose=verbose)
    if len(answers) == 1 and answers[0].report is not None:
        return  # its verdict has been said
    if sys.stdout.isatty():
        click.echo("")
    for answer in answers:
        if answer.report is not None:
            click.echo(f"{answer.report.verdict:<17} {one_line(answer.recipe)} seed {answer.report.seed}")
        elif answer.left_out:
            click.echo(f"{'LEFT OUT':<17} {one_line(answer.recipe)}: {one_line(answer.left_out)}")
        else:
            click.echo(f"{'ERROR':<17} {one_line(answer.recipe)}: {one_line(answer.error)}")


def to_github(answers: Sequence[checklist.Report], *, gate: gate_record.GateRecord | None = None) -> None:
    """On GitHub: the step summary, and annotations on the recipes' lines (it reads stderr too)."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if os.environ.get("GITHUB_ACTIONS") != "true" or not (answers or gate):
        return
    from reprokit.reports.formats import to_github

    for line in to_github.annotation_commands(answers):
        click.echo(line, err=True)
    if summary:
        with Path(summary).open("a", encoding="utf-8") as stream:
            head = to_github.gate_section(gate) if gate else ""
            room = to_github.SUMMARY_BYTES - len(head.encode())
            stream.write(head + (to_github.step_summary(answers, limit_bytes=room) if answers else ""))
