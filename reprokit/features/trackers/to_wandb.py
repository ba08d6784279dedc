"""A run as an offline run of W&B, by its own library: nothing is sent until `wandb sync` is typed."""

from __future__ import annotations

import importlib
from pathlib import Path

from reprokit import extras
from reprokit.errors import CannotRunError, MissingExtraError
from reprokit.features.trackers.tracked_run import TrackedRun

_MOST_OF_TAG = 64  # characters that W&B takes


def to_wandb(run: TrackedRun, folder: Path) -> Path:
    """Write ``<folder>/wandb/offline-run-…``, and return that folder.

    Raises:
        MissingExtraError: wandb is not installed.
        CannotRunError: It did not write the run.
    """
    if not extras.is_installed("wandb"):
        raise MissingExtraError(
            "this needs the package wandb, which is not installed", fix="pip install wandb"
        )
    wandb = importlib.import_module("wandb")
    folder.mkdir(parents=True, exist_ok=True)
    quiet = wandb.Settings(
        silent=True, console="off", disable_git=True, save_code=False, x_disable_stats=True
    )
    try:
        with wandb.init(
            mode="offline",
            dir=str(folder.resolve()),
            project="reprokit",
            group=run.recipe,
            name=run.name,
            tags=[run.tags["reprokit.verdict"][:_MOST_OF_TAG]],
            config={**run.settings, **run.tags},
            settings=quiet,
        ) as log:
            for step, values in run.records():
                log.log(values, step=step)
            log.summary.update(run.tags)
            place = Path(log.dir).parent
    except wandb.Error as error:
        raise CannotRunError(f"wandb did not write the run: {error}", where=str(folder)) from error
    return place
