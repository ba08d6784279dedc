"""What a new golden changes, for the person who reviews it: numbers, settings, environment, reason."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import adapters, golden
from reprokit.capture import environment_diff, git_history
from reprokit.compressed import SUFFIX
from reprokit.core import inputs
from reprokit.core.comparison import Comparison
from reprokit.core.environment_record import DifferingFact
from reprokit.core.provenance import Provenance
from reprokit.errors import GoldenError, UsageError
from reprokit.harness.judging.differences import what_changed
from reprokit.layout import METRICS, PROVENANCE, TRACE


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One metric that moved: in how many records, from which step, how far, and where it ends now."""

    metric: str
    records: int
    first_step: Any
    max_abs_error: float | None
    max_rel_error: float | None
    final_old: Any
    final_new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenDiff:
    """What is new in a golden.

    Attributes:
        comparison: New metrics against old ones, at 0/0.
        moved: Metrics that moved, the furthest first.
        inputs: What else the numbers follow from and is not as it was: ``trainer``, ``lock``, …
        follows: Whether the new golden is the old one, or says that it replaced it.
    """

    old: Provenance
    new: Provenance
    comparison: Comparison
    moved: tuple[Moved, ...]
    settings: tuple[str, ...]
    inputs: tuple[str, ...]
    environment: tuple[DifferingFact, ...]
    follows: bool


@contextmanager
def opened(name: str, *, at: Path) -> Iterator[golden.Golden]:
    """A golden by its folder, which wins, or by ``REVISION:folder`` as git spells it; read and checked.

    Raises:
        GoldenError: It is no golden, or not the one that was blessed.
        UsageError: There is no such revision, or it has no such folder.
    """
    revision, colon, folder = name.partition(":")
    if Path(name).exists() or not colon:
        yield golden.load(Path(name))
        return
    parts = Path(folder).parts
    if len(parts) < 3 or ".." in parts or Path(folder).is_absolute():
        raise GoldenError(
            "not a golden's folder", where=name, expected="REVISION:golden/RECIPE/PLATFORM/seed-N"
        )
    with tempfile.TemporaryDirectory(prefix="reprokit-golden-") as scratch:
        target = Path(scratch).joinpath(*parts[-3:])
        target.mkdir(parents=True)
        for file in (METRICS, TRACE, PROVENANCE):
            _restore(target / file, at=at, revision=revision, folder=folder)
        yield golden.load(target)


def _restore(target: Path, *, at: Path, revision: str, folder: str) -> None:
    """Write a golden's file as a revision has it: plain, or compressed, or not at all for a trace."""
    try:
        target.write_bytes(git_history.file_at(at, revision, f"{folder}/{target.name}"))
    except UsageError as error:
        packed = target.with_name(target.name + SUFFIX)
        try:
            packed.write_bytes(git_history.file_at(at, revision, f"{folder}/{packed.name}"))
        except UsageError:
            if target.name != TRACE:
                raise error from None


def compare_goldens(old: golden.Golden, new: golden.Golden) -> GoldenDiff:
    """What changed between two goldens of one recipe, platform and seed (else a ``GoldenError``)."""
    before, after = old.provenance, new.provenance
    for what in ("recipe", "platform", "seed"):
        then, now = getattr(before, what), getattr(after, what)
        if then != now:
            raise GoldenError(
                f"the goldens differ in their {what}",
                where=str(new.path),
                expected=str(then),
                actual=str(now),
                fix=f"compare two goldens of the same {what}",
            )
    comparison = adapters.compare(old.metrics, new.metrics)
    settings = what_changed.settings(before.config, after.config, recipe=after.recipe, lines={})
    explained = {"config", "recipe"} if settings else set()
    return GoldenDiff(
        old=before,
        new=after,
        comparison=comparison,
        moved=_moved(comparison, old.metrics, new.metrics),
        settings=settings,
        inputs=tuple(name for name in inputs.changed(before.digests, after.digests) if name not in explained),
        environment=tuple(
            row
            for row in environment_diff.diff(before.environment, after.environment)
            if row["can_change_numbers"] != "no"
        ),
        follows=before.digests["metrics"] in {after.previous, after.digests["metrics"]},
    )


def _moved(comparison: Comparison, old: Path, new: Path) -> tuple[Moved, ...]:
    ends = adapters.summarise(old).final_values, adapters.summarise(new).final_values
    rows = [
        Moved(
            metric=name,
            records=summary.mismatches,
            first_step=summary.first_step,
            max_abs_error=summary.max_abs_error,
            max_rel_error=summary.max_rel_error,
            final_old=ends[0].get(name),
            final_new=ends[1].get(name),
        )
        for name, summary in comparison.per_metric.items()
        if summary.mismatches
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.max_rel_error or 0.0), row.metric)))
