"""``reprokit demo``: a verdict and a cause on recorded runs, then on a program that is trained here."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import examples, json_option
from reprokit.cli.output import fitted_lines, print_json
from reprokit.errors import CannotJudgeError

_RECORDED = "Two recorded runs of fit.py with one seed, judged now (fit.py is not kept here):"
_ASKED = "Which line makes them differ? What `reprokit diagnose` answered, with new runs of it:"
_OFFER = "A small program with a planted fault can be trained in a temporary folder, and its fault found."
_NEXT = "Your program: reprokit init -- python train.py"


@click.command(
    "demo",
    cls=Command,
    short_help="Show a verdict and a cause, in two minutes and without a program.",
    epilog=examples("reprokit demo", "reprokit demo --pages FOLDER"),
)
@click.option(
    "--pages",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write report.html and diagnosis.html into this folder.",
)
@json_option("Print the report and the diagnosis of the recorded runs; ask nothing.")
def command(pages: Path | None, as_json: bool) -> int:
    """Show a verdict and a cause: of two recorded runs, then of a program trained while you watch.

    On a terminal you are asked whether to train it: in a temporary folder, which is removed at the end.
    Elsewhere nothing is asked. Nothing is fetched.

    Exit codes: 0 shown; 3 the program could not be run; 4 its fault was not found.
    """
    from reprokit.features.demo import recorded

    if as_json:
        if pages is not None:
            recorded.write_pages(pages)
        print_json({"report": recorded.report_data(), "diagnosis": recorded.diagnosis(Path()).as_data()})
        return 0
    is_asked = sys.stdin.isatty() and sys.stdout.isatty()
    with _folder() as temporary:
        _show_recorded(pages or (temporary / "recorded" if is_asked else None))
        click.echo("")
        code = 0
        if is_asked and _can_run() and _is_wanted():
            code = _find_the_fault(temporary / "trained")
        click.echo(_NEXT)
    return code


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A temporary folder, removed at the end, also where the person interrupts."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="reprokit-demo-") as folder:
        yield Path(folder).resolve()


def _can_run() -> bool:
    from reprokit import extras

    return extras.is_installed("fcntl")


def _is_wanted() -> bool:
    _say(_OFFER)
    return click.confirm("Do it? It takes less than a minute", default=True)


def _show_recorded(pages: Path | None) -> None:
    """The screens of both verbs; the pages are named where they are written."""
    from reprokit.cli import show_report
    from reprokit.features.demo import recorded

    if pages is not None:
        recorded.write_pages(pages)
    _say(f"{_RECORDED}\n")
    show_report.report(recorded.report(), folder=pages, as_json=False)
    _say(f"\n{_ASKED}\n")
    click.echo(recorded.diagnosis_text(pages), nl=False)
    if pages is None and recorded.has_pages():
        _say("Pages: report.html and diagnosis.html, by reprokit demo --pages FOLDER")


def _find_the_fault(folder: Path) -> int:
    """Train the program under both verbs: 0 where the fault was found, else why it could not be.

    Raises:
        CannotJudgeError: Another line was named, or none.
    """
    from reprokit.features.demo import trained

    trained.begin(folder)
    _say(f"\nThe program is {folder / trained.PROGRAM}.")
    with contextlib.chdir(folder):
        for verb in ("reproduce", "diagnose"):
            words = [verb, "--", *trained.command()]
            _say_command(f"reprokit {trained.as_typed(words)}")
            code = _run(words)
            if code != 1:  # 0: nothing differed
                return code or CannotJudgeError.exit_code
    planted, found = trained.planted_line(), trained.found_line(folder)
    if planted != found:
        raise CannotJudgeError(
            "the planted fault was not found", expected=f"line {planted}", actual=f"line {found}"
        )
    click.echo(f"\nFound: the planted fault is in line {planted} of {trained.PROGRAM}.")
    _say(f"All that was written is in {folder}")
    click.prompt("Enter removes this folder", default="", show_default=False)
    return 0


def _run(words: list[str]) -> int:
    """A verb as it is typed: its exit code."""
    from reprokit.cli import root

    with root.make_context("reprokit", words) as context:
        code: int = root.invoke(context)
    return code


def _say(text: str) -> None:
    """A sentence of the demo itself, in the columns that are there."""
    for line in fitted_lines(text.split("\n")):
        click.echo(line)


def _say_command(line: str) -> None:
    """A command as a shell takes it, on as many lines as it needs here."""
    from reprokit.reports.terminal.terminal_lines import command_lines
    from reprokit.reports.terminal.terminal_style import style_of

    width = style_of(sys.stdout, environ=os.environ).width
    click.echo("\n" + "\n".join(command_lines(line, width=width, lead="$ ")) + "\n")
