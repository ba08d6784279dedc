"""A run as an offline run of W&B, by its own library: nothing is sent until `wandb sync` is typed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
    wandb = _library()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with wandb.init(
            mode="offline",
            dir=str(folder.resolve()),
            project="reprokit",
            group=run.recipe,
            name=run.name,
            tags=[run.tags["reprokit.verdict"][:_MOST_OF_TAG]],
            config={**run.settings, **run.tags},
            settings=_quiet(wandb),
        ) as log:
            for step, values in run.records():
                log.log(values, step=step)
            log.summary.update(run.tags)
            place = Path(log.dir).parent
    except wandb.Error as error:
        raise CannotRunError(f"wandb did not write the run: {error}", where=str(folder)) from error
    return place


class LiveOfflineRun:
    """``<place>/wandb/offline-run-…``, to which records are added; its tag is the verdict."""

    def __init__(self, run: Path, place: Path) -> None:
        wandb = _library()
        self._log = wandb.init(
            mode="offline",
            dir=str(place.resolve()),
            project="reprokit",
            group=run.parent.name,
            name=run.name,
            settings=_quiet(wandb),
        )

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """One record."""
        self._log.log(dict(values), step=step)

    def close(self, tags: Mapping[str, str]) -> None:
        """The verdict as the run's tag, and all that is said of it in its summary."""
        if tags:
            self._log.tags = (tags["reprokit.verdict"][:_MOST_OF_TAG],)
            self._log.summary.update(dict(tags))
        self._log.finish()


def _library() -> Any:
    if not extras.is_installed("wandb"):
        raise MissingExtraError(
            "this needs the package wandb, which is not installed", fix="pip install wandb"
        )
    return importlib.import_module("wandb")


def _quiet(wandb: Any) -> Any:
    """Nothing but what it is given: no output of the process, no look at a repository or the machine."""
    return wandb.Settings(silent=True, console="off", disable_git=True, save_code=False, x_disable_stats=True)
