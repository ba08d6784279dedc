"""Metrics of commits that were trained before, by what the commits stand on."""

from __future__ import annotations

import shutil
from pathlib import Path

from reprokit import workspace
from reprokit.layout import METRICS, read_json

CACHE = ".bisect"
_FACTS = "metrics.json"


def metrics_in(folder: Path) -> Path | None:
    """The metrics that are kept in a folder, unless someone touched them."""
    metrics = folder / METRICS
    recorded = read_json(folder / _FACTS)
    known = metrics.is_file() and recorded.get("sha256") == workspace.sha256_of(metrics)
    return metrics if known else None


def num_runs(folder: Path) -> int:
    """How many runs agreed in what a folder keeps."""
    return int(read_json(folder / _FACTS).get("runs") or 0)


def remember(folder: Path, metrics: Path, *, runs: int = 1) -> Path:
    """Keep the metrics of so many runs; where.

    Raises:
        WorkspaceError: They cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(metrics, folder / METRICS)
        facts = {"sha256": workspace.sha256_of(metrics), "runs": runs}
        workspace.write_json(folder / _FACTS, facts)
    except OSError as error:
        raise workspace.cannot_write(folder, error) from error
    return folder / METRICS
