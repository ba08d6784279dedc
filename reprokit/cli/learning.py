"""``reprokit learning``: whether a run learned, and if not, where to look.

Text of the run passes ``one_line`` on its way to the terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.options import backend_option, examples, folder_options, project_of, request_of

if TYPE_CHECKING:
    from reprokit.harness import Learned
    from reprokit.learning.curve import Point

_COLOURS = {"fine": "green", "look": "yellow", "wrong": "red", "unknown": "magenta"}


@click.command(
    "learning",
    short_help="Say whether a run learned, and if not, where to look.",
    epilog=examples(
        "reprokit learning 20261121T101500Z-3fa9-seed42-1",
        "reprokit learning 20261121T101500Z-3fa9-seed42-1 --probe",
    ),
)
@click.argument("run", metavar="RUN")
@click.option(
    "--probe",
    is_flag=True,
    help="Also train a little: watch, check the environment, memorise one transition.",
)
@backend_option(
    metavar="BACKEND",
    help="Where the probe runs: docker, local or auto.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop the probe after this long.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
def command(run: str, probe: bool, as_json: bool, **options: Any) -> int:
    """Ask a run the questions that one asks when training does not learn, from the reward to the result.

    RUN is a run folder, or a run id or its beginning. Exit codes: 0 nothing is wrong; 1 something is; 3 the
    probe could not run; 4 the run logged no metrics.
    """
    from reprokit.cli import show_report
    from reprokit.harness import learning
    from reprokit.learning import is_well

    request, project = request_of(options), project_of(options)
    with show_report.progress() as progress:
        found = learning.learned(run, request, project=project, progress=progress, probe=probe)
    code = 0 if is_well(found.answers) else 1
    if as_json:
        _print_json(found, code)
        return code
    _print(found)
    return code


def _print(found: Learned) -> None:
    from reprokit.cli.show_report import folded
    from reprokit.reports.escaping import one_line

    for answer in found.answers:
        word = click.style(f"{answer.health.value:8}", fg=_COLOURS[answer.health.value])
        click.echo(f"{word} {answer.question}")
        click.echo(folded(f"         {one_line(answer.told, limit=2000)}", indent=9))
        if answer.remedy:
            click.echo(folded(f"         → {one_line(answer.remedy, limit=2000)}", indent=11))
    if found.curve:
        click.echo()
        for line in _curve_lines(found.curve):
            click.echo(line)
    if found.probe is not None:
        click.echo(f"\nProbe: {one_line(str(found.probe), limit=2000)}")


def _curve_lines(curve: Sequence[Point]) -> list[str]:
    """The learning curve: one line an evaluation."""
    from reprokit.reports.escaping import one_line

    lines = []
    metric = None
    for point in curve:
        if point.metric != metric:
            metric = point.metric
            lines += [
                f"Learning curve: {one_line(metric, limit=200)}",
                f"{'step':>12}  {'mean':>10}  {'std':>10}",
            ]
        std = "-" if point.std is None else f"{point.std:.2f}"
        lines.append(f"{point.step:>12,}  {point.mean:>10.2f}  {std:>10}")
    return lines


def _print_json(found: Learned, code: int) -> None:
    import json
    from dataclasses import asdict

    answers = [asdict(answer) for answer in found.answers]
    probe = None if found.probe is None else str(found.probe)
    curve = [asdict(point) for point in found.curve]
    answer = {"exit_code": code, "run": str(found.run), "probe": probe, "answers": answers, "curve": curve}
    click.echo(json.dumps(answer, indent=2))
