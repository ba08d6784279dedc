"""One number from a run for each metric that its recipe declares under ``statistical``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reprokit import adapters
from reprokit.core.statistics.windows import Window
from reprokit.errors import CannotJudgeError, MetricsError
from reprokit.golden import labels_of
from reprokit.layout import METRICS
from reprokit.recipes import StatisticalMetric

_SHOWN = 8


def windowed_values(folder: Path, statistical: Sequence[StatisticalMetric]) -> Mapping[str, float]:
    """The number of each metric, by its label; NaN where the window holds a value that is not finite.

    Raises:
        CannotJudgeError: The metrics cannot be read, one was not logged, or its window has no number.
    """
    file = folder / METRICS
    try:
        columns = adapters.read_columns(file)
    except (MetricsError, OSError) as error:
        raise CannotJudgeError(f"its metrics cannot be read: {error}", where=str(file)) from error
    if columns.num_unreadable:
        raise CannotJudgeError(f"{columns.num_unreadable} records cannot be read", where=str(file))
    found = {}
    labels = labels_of([one.as_blessed() for one in statistical])
    for label, one in zip(labels, statistical, strict=True):
        if one.metric in columns.not_numbers:
            raise CannotJudgeError(f"{one.metric} holds a value that is not a number", where=str(file))
        if one.metric not in columns.series:
            logged = ", ".join(sorted(columns.series)[:_SHOWN])
            raise CannotJudgeError(f"{one.metric} was never logged", where=str(file), actual=logged)
        steps, values = columns.series[one.metric]
        windowed = Window.parse(one.window).of(steps, values[None, :])
        if windowed.refused:
            raise CannotJudgeError(f"{label} has no {one.window}: {windowed.refused}", where=str(file))
        found[label] = float(windowed.values[0])
    return found
