"""Patterns of metrics that are left out, or that are printed: one that fits none is named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reprokit import adapters, runs
from reprokit.errors import UsageError
from reprokit.recipes import Recipe
from reprokit.session import Progress

_OPTION = "--ignore-metric"


def must_leave_out(folders: Sequence[Path], patterns: Sequence[str]) -> None:
    """Refuse patterns that leave nothing out of the comparison of some runs.

    Raises:
        UsageError: The runs are of a recipe, or a pattern matches no metric of any of them.
        ReportError: One is not a run folder.
    """
    if not patterns:
        return
    for folder in folders:
        record = runs.read(folder, verify=False).record
        if not record.plain_command or record.program:
            raise UsageError(
                f"{_OPTION} is for runs of plain commands, which have no golden",
                where=str(folder),
                fix="leave it out: a recipe says itself what is left out, under `volatile`",
            )
    every = (source for folder in folders for source in adapters.find_all(folder))
    adapters.must_fit(every, patterns, option=_OPTION)


def tell_idle_patterns(recipe: Recipe, folders: Sequence[Path], *, progress: Progress) -> None:
    """Warn of patterns under ``volatile`` or ``printed`` that fit nothing of the first run."""
    record = runs.read(folders[0], verify=False).record
    for pattern, near in (record.volatile_idle or {}).items():
        what = f"`volatile` has {pattern!r}, which matches no metric; the nearest names: {near}"
        progress.note(f"warning: {recipe.where('volatile')}: {what}")
    for pattern in record.printed_idle:
        what = f"`printed` has {pattern!r}, which matches no line that was printed"
        progress.note(f"warning: {recipe.where('printed')}: {what}")
