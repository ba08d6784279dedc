"""Run folders as lines: a table of many, a page of one, and what `reprokit runs prune` removes.

All of it comes from files that anyone may have written, and is escaped first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit.reports.tables import bytes_text, narrowed, shown

if TYPE_CHECKING:
    from reprokit.runs.listing import ReportNote, RunSummary


_LEAST_NEEDED = ("modified", "seconds", "environment", "started", "seed", "recipe")


def run_table(runs: Sequence[RunSummary]) -> list[str]:
    """One line for each run, below the names of the columns; a narrow terminal gets fewer columns.

    The last to go are in the name of a run: when it began, and its seed.
    """
    return narrowed([_row(run) for run in runs], without=_LEAST_NEEDED)


def run_page(
    run: RunSummary,
    *,
    folder: Path,
    notes: Sequence[ReportNote],
    files: Mapping[str, int],
    command: str = "",
) -> Iterator[str]:
    """One run: its facts, its command line, the reports that name it, and its files by size."""
    for name, value in _row(run).items():
        yield f"{name:<12} {shown(value)}"
    if run.because:
        yield f"{'because':<12} {shown(run.because, limit=1000)}"
    if command:
        yield f"{'command':<12} {shown(command, limit=1000)}"
    yield f"{'folder':<12} {shown(folder, limit=1000)}"
    for note in notes:
        yield f"{'report':<12} {shown(note.verdict)}  {shown(note.path, limit=1000)}"
    for name, size in files.items():
        yield f"  {size:>12,}  {shown(name)}"


def prune_lines(kept: Sequence[Any], going: Sequence[Any], *, removed: bool) -> Iterator[str]:
    """What stays and why, what goes (or is gone, if ``removed``), and how much that is."""
    for one in kept:
        yield f"kept     {shown(one.path, limit=1000)}: {shown(one.because, limit=1000)}"
    for run in going:
        word = "removed" if removed else "would go"
        size = f"{run.outcome}, {bytes_text(run.num_bytes)}"
        yield f"{word:<8} {shown(run.path, limit=1000)} ({shown(size)})"
    verb = "removed" if removed else "would be removed"
    size = bytes_text(sum(run.num_bytes for run in going))
    yield f"{len(going)} runs {verb}, {size}; {len(kept)} kept."


def _row(run: RunSummary) -> dict[str, Any]:
    digests = [digest.removeprefix("sha256:")[:8] for digest in run.digests[:1]]
    return {
        "run": run.run_id,
        "recipe": run.recipe,
        "seed": run.seed,
        "started": run.started_at,
        "seconds": None if run.duration_s is None else f"{run.duration_s:.1f}",
        "outcome": run.outcome,
        "verdict": run.verdict,
        "environment": " ".join([run.environment, *digests]).strip(),  # such as: cpu image 8f0d3c21
        "modified": " ".join(run.modified),
    }
