"""``reprokit runs convert``: a run for TensorBoard, MLflow or W&B."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import examples, folder_options, json_option, project_of
from reprokit.cli.output import print_answer

if TYPE_CHECKING:
    from reprokit.features.trackers.tracked_run import TrackedRun


@click.command(
    "convert",
    cls=Command,
    short_help="Write a run's metrics and verdict as logs of TensorBoard, MLflow or W&B.",
    epilog=examples(
        "reprokit runs convert 20261121T101500Z-3fa9 --to tensorboard --output logs",
        "reprokit runs convert 20261121T101500Z-3fa9 --to mlflow --output mlruns",
    ),
)
@click.argument("run", metavar="RUN")
@click.option(
    "--to",
    "form",
    type=click.Choice(["tensorboard", "mlflow", "wandb"]),
    required=True,
    help="Whose logs; wandb needs that package, and stays offline.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="FOLDER",
    help="The folder of logs that the run is added to.",
)
@json_option("Print where it was written, and its tags.")
@folder_options
def command(run: str, form: str, output: Path, as_json: bool, **options: Any) -> int:
    """Add RUN to a folder of logs, with the verdict of the newest report that judges it.

    RUN is a run folder, or a run id or its beginning; it stays as it is. Tags say verdict, sentence,
    report, recipe and seed. A run that is there already is not written again: exit code 2.
    """
    from reprokit.features.trackers.tracked_run import tracked_run
    from reprokit.reports import one_line

    found = tracked_run(run, project=project_of(options))
    where = _writer(form)(found, output)
    lines = [
        f"Written: {one_line(where)}",
        *(f"{name}: {one_line(text)}" for name, text in found.tags.items()),
    ]
    print_answer(lines, data=lambda: {"written": str(where), "tags": dict(found.tags)}, as_json=as_json)
    return 0


def _writer(form: str) -> Callable[[TrackedRun, Path], Path]:
    if form == "tensorboard":
        from reprokit.features.trackers.to_tensorboard import to_tensorboard

        return to_tensorboard
    if form == "mlflow":
        from reprokit.features.trackers.to_mlflow import to_mlflow

        return to_mlflow
    from reprokit.features.trackers.to_wandb import to_wandb

    return to_wandb
