"""``reprokit diff``: compare two metrics files, run folders or goldens."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import (
    PLOT_POINTS,
    examples,
    ignore_option,
    json_option,
    picture_file,
    plot_option,
    write_picture,
)
from reprokit.cli.output import print_json
from reprokit.layout import MARKER, RECORD

if TYPE_CHECKING:
    from reprokit.adapters import MetricsSource, Pair
    from reprokit.core import comparison

_PATH = click.Path(path_type=Path)
_FORMS = {"jsonl": "JSON Lines", "json": "JSON", "csv": "a table", "printed": "printed lines"}
_MOST_TOLD = 3
_COLOURS = {"good": "green", "bad": "red", "odd": "yellow", "title": None}


@click.command(
    "diff",
    cls=Command,
    short_help="Compare metrics files or run folders, bit for bit by default.",
    epilog=examples(
        "reprokit diff golden/cartpole_baseline/cpu-x86_64/seed-42 RUN",
        "reprokit diff old/metrics.jsonl new/metrics.jsonl --rtol 1e-6",
        "reprokit diff --trace reports/x/T/traces/01-first …/02-second",
    ),
)
@click.argument("expected", type=_PATH)
@click.argument("actual", type=_PATH)
@click.option(
    "--trace",
    is_flag=True,
    help="Compare recorded traces: where training first differs, and at which lines.",
)
@click.option("--rtol", type=float, default=0.0, show_default=True, help="Relative tolerance, of EXPECTED.")
@click.option("--atol", type=float, default=0.0, show_default=True, help="Absolute tolerance.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Compare only this; repeatable.")
@ignore_option("Leave metrics out.")
@json_option()
@plot_option("both sides")
def command(
    expected: Path,
    actual: Path,
    trace: bool,
    rtol: float,
    atol: float,
    metrics: tuple[str, ...],
    ignore: tuple[str, ...],
    as_json: bool,
    plot: Path | None,
) -> int:
    """Say whether ACTUAL's metrics equal EXPECTED's, and where they first differ.

    Each is a metrics file, or a folder with metrics.jsonl; other logs next to it that differ are named. In
    two folders without one, all metrics files are compared.

    With --trace both are folders with a trace: of `reprokit diagnose`, whose drawing lines are compared in
    the order of EXPECTED, or run folders of recipes, which are compared by their digests of each update; of
    several ranks, the first one that differs is named, with the collective.

    Exit codes: 0 equal, or within the tolerance; 1 different; 2 cannot be compared.
    """
    if trace:
        if rtol or atol or metrics or ignore or plot is not None:
            raise click.UsageError("--trace compares all that was recorded; leave out the other options")
        return _compare_traces(expected, actual, as_json=as_json)
    from reprokit import adapters
    from reprokit.core import comparison
    from reprokit.errors import MetricsError

    picture_file(plot)
    try:
        found, pairs = adapters.compare_paths(
            expected,
            actual,
            tolerances=comparison.Tolerances(default=comparison.Tolerance(rtol=rtol, atol=atol)),
            metrics=metrics or None,
            ignore=ignore,
        )
    except MetricsError as error:
        if as_json:
            side = "expected" if (error.where or "").startswith(str(expected)) else "actual"
            print_json(comparison.to_json(comparison.unreadable(error, side=side)))
        raise
    every = (source for pair in pairs for source in pair)
    adapters.must_fit(every, ignore, option="--ignore-metric")
    for folder in (expected, actual):
        if (folder / RECORD).is_file() and not (folder / MARKER).is_file():
            click.echo(f"Warning: {folder} is an incomplete run; it proves nothing.", err=True)
    if as_json:
        print_json(comparison.to_json(found))
    else:
        _print(found, pairs, expected, actual)
    if plot is not None:
        _draw(found, pairs, plot)
    return comparison.exit_code(found)


def _compare_traces(expected: Path, actual: Path, *, as_json: bool) -> int:
    from reprokit.cli.commands.trace import compare_traces
    from reprokit.errors import UsageError

    for folder in (expected, actual):
        if not folder.is_dir():
            raise UsageError("there is no such folder", where=str(folder), fix="give a folder below traces/")
    return compare_traces(expected, actual, as_json=as_json)


def _print(found: comparison.Comparison, pairs: list[Pair], expected: Path, actual: Path) -> None:
    import shutil

    from reprokit import adapters
    from reprokit.reports.terminal import diff_to_terminal

    in_colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    text = diff_to_terminal.diff_to_terminal(
        found,
        expected=f"{expected}{_read_as([left for left, _ in pairs])}",
        actual=f"{actual}{_read_as([right for _, right in pairs])}",
        context=adapters.around(pairs, found.divergence) if found.divergence else (),
        of_machine=adapters.machine_metrics(pairs, found) if found.comparable else {},
        width=min(max(shutil.get_terminal_size().columns, 60), 200),
        paint=_paint if in_colour else lambda text, _tone: text,
    )
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), nl=False, color=in_colour)


def _read_as(sources: list[MetricsSource]) -> str:
    """What was read by its content, and as what; "" of files that are known by their names."""
    from reprokit import adapters

    told = [
        f"{source.name} as {_FORMS[source.adapter]}" for source in sources if adapters.is_by_content(source)
    ]
    more = f" and {len(told) - _MOST_TOLD:,} more" if len(told) > _MOST_TOLD else ""
    return f" (read: {', '.join(told[:_MOST_TOLD])}{more})" if told else ""


def _paint(text: str, tone: str) -> str:
    return click.style(text, fg=_COLOURS[tone], bold=True)


def _draw(found: comparison.Comparison, pairs: list[Pair], plot: Path) -> None:
    from reprokit import adapters
    from reprokit.reports.charts import diff_to_svg
    from reprokit.reports.terminal import diff_to_terminal

    series = adapters.series_of_pairs(pairs, max_points=PLOT_POINTS)
    names = [*diff_to_terminal.ranked(found.per_metric), *series]
    picture = diff_to_svg.diff_to_svg(
        {name: series[name] for name in names if name in series},
        found.divergence,
        title=diff_to_terminal.headline(found),
    )
    write_picture(plot, picture)
