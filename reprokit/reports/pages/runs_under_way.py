"""Runs that are under way, as lines of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reprokit.reports.progress import duration
from reprokit.reports.sparkline import sparkline
from reprokit.reports.tables import few_digits, narrowed, shown

if TYPE_CHECKING:
    from reprokit.runs.underway import RunUnderWay

_CURVE_COLUMNS = 10
_MOST_OF_NAME = 18
_SILENT_S = 60.0  # after which it is worth a word
_LEAST_NEEDED = ("run", "where", "recipe", "time", "seed")


def title(runs: Sequence[RunUnderWay]) -> str:
    """How many there are."""
    return f"{len(runs)} {'run' if len(runs) == 1 else 'runs'} under way" if runs else "No run is under way."


def run_lines(runs: Sequence[RunUnderWay], *, can_unicode: bool) -> list[str]:
    """A line for each, below the names of the columns."""
    return narrowed([_row(run, can_unicode=can_unicode) for run in runs], without=_LEAST_NEEDED)


def _row(run: RunUnderWay, *, can_unicode: bool) -> dict[str, Any]:
    silent = run.silent_s is not None and run.silent_s >= _SILENT_S
    time = "-" if run.elapsed_s is None else duration(run.elapsed_s)
    if silent and run.silent_s is not None:
        time += f", silent {duration(run.silent_s)}"
    return {
        "recipe": shown(run.recipe, limit=40),
        "seed": run.seed,
        "where": shown(run.where, limit=40),
        "time": time,
        "step": _step(run),
        "metric": shown(run.metric, limit=_MOST_OF_NAME),
        "last": "-" if run.value is None else few_digits(run.value),
        **({"curve": sparkline(run.curve, width=_CURVE_COLUMNS)} if can_unicode else {}),
        "run": run.run_id,
    }


def _step(run: RunUnderWay) -> str:
    if run.step is None:
        return "-"
    return f"{run.step:,}" if run.total is None else f"{run.step:,} of {run.total:,}"
