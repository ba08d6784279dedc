"""What a tracker is given of a run: its metrics, its settings, and the verdict of the newest report."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from reprokit import adapters, runs
from reprokit.errors import CannotJudgeError, MetricsError, UsageError
from reprokit.layout import METRICS
from reprokit.project import Project
from reprokit.redaction import redact_text
from reprokit.runs import listing

_PREFIX = "reprokit"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedRun:
    """A run, ready to be written.

    Attributes:
        name: Its id.
        recipe: The folder that it is filed under.
        began: Seconds since 1970, UTC.
        curves: Metric → its steps and values.
        settings: Dotted name → value.
        tags: What is said of it, the verdict first.
    """

    name: str
    recipe: str
    began: float
    curves: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]
    settings: Mapping[str, str]
    tags: Mapping[str, str]

    def records(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Each step, in order, with its values."""
        found: dict[int, dict[str, float]] = {}
        for name, (steps, values) in self.curves.items():
            for step, value in zip(steps, values, strict=True):
                found.setdefault(int(step), {})[name] = value
        yield from sorted(found.items())


def tracked_run(reference: str, *, project: Project) -> TrackedRun:
    """Read a run, every byte of it, and the newest report that judges it.

    Raises:
        ReportError: There is no such run.
        CannotJudgeError: It is not complete, or has no metrics.
    """
    stored = runs.read(runs.find(project.runs_dir, reference))
    if not stored.complete:
        raise CannotJudgeError(
            f"the run is not complete: {stored.incomplete_because}", where=str(stored.path)
        )
    try:
        series = adapters.read_series(stored.path / METRICS)
    except MetricsError as error:
        raise CannotJudgeError(f"its metrics cannot be read: {error}", where=str(stored.path)) from error
    key = listing.key_of(stored.path.resolve())
    settings = stored.record.training_config
    return TrackedRun(
        name=stored.path.name,
        recipe=stored.path.parent.name,
        began=_seconds(stored.record.started_at),
        curves={name: (tuple(one.steps), tuple(one.values)) for name, one in series.items()},
        settings=dict(_flat(settings)),
        tags=_tags(stored, project, key),
    )


def verdict_tags(folder: Path, *, project: Project) -> dict[str, str]:
    """What the newest report says of a run, the verdict first."""
    stored = runs.read(folder, verify=False)
    return _tags(stored, project, listing.key_of(folder.resolve()))


def must_be_new(place: Path) -> Path:
    """The place, where nothing is yet.

    Raises:
        UsageError: The run is there already.
    """
    if place.exists():
        raise UsageError(
            "the run is there already", where=str(place), fix="remove it, or name another folder"
        )
    return place


def _tags(stored: runs.StoredRun, project: Project, key: str) -> dict[str, str]:
    notes = listing.report_notes(project.reports_dir, now_ns=time.time_ns())
    judging = [note for note in notes if key in note.judged and not note.problem]
    newest = max(judging, key=lambda note: note.created_at, default=None)
    tags = {"run": stored.path.name, "recipe": stored.path.parent.name, "seed": str(stored.record.seed)}
    if newest is None:
        tags = {"verdict": "not judged", **tags}
    else:
        told = {"verdict": newest.verdict, "sentence": newest.sentence, "report": newest.path}
        tags = {**told, "reported": newest.created_at, **tags}
    return {f"{_PREFIX}.{name}": redact_text(text) for name, text in tags.items()}


def _flat(settings: Any, before: str = "") -> Iterator[tuple[str, str]]:
    if not isinstance(settings, Mapping):
        yield before, redact_text(str(settings))
        return
    for name, value in settings.items():
        yield from _flat(value, f"{before}.{name}" if before else str(name))


def _seconds(moment: str | None) -> float:
    try:
        return datetime.fromisoformat(str(moment)).timestamp()
    except ValueError:
        return 0.0
