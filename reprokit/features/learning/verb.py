"""``reprokit runs learning``: whether a run learned, and if not, where to look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.help_pages import Command, Title, titled
from reprokit.cli.options import (
    backend_option,
    examples,
    folder_options,
    json_option,
    project_of,
    request_of,
    timeout_option,
)
from reprokit.cli.output import print_answer
from reprokit.session import Session

_COLOURS = {"fine": "green", "look": "yellow", "wrong": "red", "unknown": "magenta"}


@click.command(
    "learning",
    cls=Command,
    short_help="Say whether a run learned, and if not, where to look.",
    epilog=examples(
        "reprokit runs learning 20261121T101500Z-3fa9-seed42-1",
        "reprokit runs learning 20261121T101500Z-3fa9-seed42-1 --probe",
    ),
)
@click.argument("run", metavar="RUN")
@click.option(
    "--probe",
    is_flag=True,
    help="Also train briefly: watch it, check the environment, overfit one transition.",
)
@backend_option(metavar="BACKEND", help="Where the probe runs: docker, local or auto.")
@timeout_option("the probe")
@titled(
    Title.WRITTEN,
    click.option(
        "--html",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Also write a page with the answers and the curves.",
    ),
)
@json_option("Print JSON.")
@folder_options
def command(run: str, probe: bool, html: Path | None, as_json: bool, **options: Any) -> int:
    """Answer the questions one asks when training does not learn, from the reward to the result.

    RUN is a run folder, or a run id or its beginning. Exit codes: 0 nothing is wrong; 1 something is; 3 the
    probe could not run; 4 the run logged no metrics.
    """
    from reprokit import learning
    from reprokit.cli import show_report
    from reprokit.features.learning.learned import learned
    from reprokit.features.learning.page import page_lines, to_data

    request, project = request_of(options), project_of(options)
    with show_report.progress() as progress:
        found = learned(run, request, session=Session(project=project, progress=progress), probe=probe)
    if html is not None:
        from reprokit.cli.html_page import write_page
        from reprokit.features.learning.learned import drawn_curves
        from reprokit.features.learning.learning_html import learning_to_html

        write_page(learning_to_html(found, drawn_curves(found.run)), path=html)
    code = 0 if learning.is_well(found.answers) else 1
    lines = page_lines(found.answers, curve=found.curve, probe=found.probe, paint=_paint)
    print_answer(lines, data=lambda: to_data(found, exit_code=code), as_json=as_json)
    return code


def _paint(text: str, health: str) -> str:
    return click.style(text, fg=_COLOURS[health])
