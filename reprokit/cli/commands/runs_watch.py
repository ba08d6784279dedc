"""``reprokit runs watch``: what is running now, here and on other machines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import examples, folder_options, json_option, project_of
from reprokit.cli.output import print_answer

if TYPE_CHECKING:
    from reprokit.runs.underway import RunUnderWay

_EVERY_S = 1.0


@click.command(
    "watch",
    cls=Command,
    short_help="Show the runs that are under way, live.",
    epilog=examples(
        "reprokit runs watch",
        "reprokit runs watch --metric train/loss",
        "reprokit runs watch --once    # print it once, as in a pipe",
    ),
)
@click.option("--metric", metavar="NAME", help="Show this metric  [default: a return, score or loss].")
@click.option("--once", is_flag=True, help="Print once and end, as in a pipe.")
@json_option("Print the runs once, as a JSON list.")
@folder_options
def watch(metric: str | None, once: bool, as_json: bool, **options: Any) -> int:
    """Show the runs that are under way here, on Ray and on Slurm, with the last value of a metric.

    All is read from the run folders, so it can be called from any machine that sees them. Ctrl-C ends it,
    with exit code 0; no run is touched.
    """
    runs_dir = project_of(options).runs_dir
    if once or as_json or not sys.stdout.isatty():
        _print_once(runs_dir, metric=metric, as_json=as_json)
        return 0
    try:
        _draw_again_and_again(runs_dir, metric=metric)
    except KeyboardInterrupt as end:
        if type(end) is not KeyboardInterrupt:  # a TERM is one of its kind
            raise
    return 0


def _print_once(runs_dir: Path, *, metric: str | None, as_json: bool) -> None:
    from dataclasses import asdict

    from reprokit.reports.pages import runs_under_way

    found = _under_way(runs_dir, metric)
    lines = [runs_under_way.title(found), *_lines(found)]
    print_answer(lines, data=lambda: [asdict(run) for run in found], as_json=as_json)


def _draw_again_and_again(runs_dir: Path, *, metric: str | None) -> None:
    from reprokit.reports.pages import runs_under_way
    from reprokit.reports.watch_display import WatchDisplay

    with WatchDisplay(stream=sys.stdout) as display:
        while True:
            found = _under_way(runs_dir, metric)
            moment = time.strftime("%H:%M:%S")
            display.show(f"{moment}  {runs_under_way.title(found)} (Ctrl-C ends this view)", _lines(found))
            time.sleep(_EVERY_S)


def _under_way(runs_dir: Path, metric: str | None) -> list[RunUnderWay]:
    from reprokit.runs.underway import under_way

    return under_way(runs_dir, now_s=time.time(), metric=metric)


def _lines(found: Sequence[RunUnderWay]) -> list[str]:
    from reprokit.reports.pages import runs_under_way
    from reprokit.reports.terminal.terminal_style import style_of

    style = style_of(sys.stdout, environ=os.environ)
    return runs_under_way.run_lines(found, can_unicode=style.can_unicode)
