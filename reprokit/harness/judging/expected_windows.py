"""Expected results that are no last values: the number of a run over the window that the recipe names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from reprokit import adapters
from reprokit.adapters import MetricColumns
from reprokit.core.statistics.windows import LAST, Window
from reprokit.core.verdicts.expected_results import ExpectedWindow
from reprokit.core.verdicts.rows import counted
from reprokit.errors import MetricsError
from reprokit.recipes import ExpectedResult


def over_windows(metrics: Path, expected: Mapping[str, ExpectedResult]) -> dict[str, ExpectedWindow]:
    """Metric → its number, or why it has none; of those that the recipe expects over another window.

    Args:
        metrics: The canonical metrics of a run.
        expected: As the recipe has them.
    """
    asked = {name: one.window for name, one in expected.items() if one.window != LAST}
    if not asked:
        return {}
    try:
        columns = adapters.read_columns(metrics)
    except MetricsError as error:
        return {name: ExpectedWindow(window=one, problem=str(error)) for name, one in asked.items()}
    return dict(_numbers(columns, asked))


def _numbers(columns: MetricColumns, asked: Mapping[str, str]) -> Iterator[tuple[str, ExpectedWindow]]:
    for name, window in asked.items():
        problem = _problem(columns, name)
        if not problem:
            steps, values = columns.series[name]
            found = Window.parse(window).of(steps, values[None])
            problem = found.refused or ("it never got there" if found.num_unreached else "")
        value = None if problem else float(found.values[0])
        yield name, ExpectedWindow(window=window, value=value, problem=problem)


def _problem(columns: MetricColumns, name: str) -> str:
    """Why no number can stand for the whole curve; "" where one can."""
    if columns.num_unreadable:
        return f"{counted(columns.num_unreadable, 'record')} cannot be read"
    if columns.not_numbers.get(name):
        return f"it also holds {counted(columns.not_numbers[name], 'non-numeric value')}"
    return "" if name in columns.series else "no value was recorded"
