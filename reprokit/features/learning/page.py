"""Whether a run learned, as lines: each answer with a hint, and the learning curve."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from reprokit.features.learning.curve import Point
from reprokit.learning import Answer
from reprokit.reports.escaping import one_line
from reprokit.reports.tables import folded


def page_lines(
    answers: Sequence[Answer],
    *,
    curve: Sequence[Point],
    probe: Path | None,
    paint: Callable[[str, str], str],
) -> Iterator[str]:
    """Every answer in the order of the questions, the results of greedy evaluation, and the probe's folder.

    ``paint`` colours a text by ``fine``, ``look``, ``wrong`` or ``unknown``.
    """
    for answer in answers:
        health = answer.health.value
        yield f"{paint(f'{health:8}', health)} {answer.question}"
        yield folded(f"         {one_line(answer.told, limit=2000)}", indent=9)
        if answer.remedy:
            yield folded(f"         → {one_line(answer.remedy, limit=2000)}", indent=11)
    if curve:
        yield ""
        yield from _curve_lines(curve)
    if probe is not None:
        yield ""
        yield f"Probe: {one_line(str(probe), limit=2000)}"


def to_data(found: Any, *, exit_code: int) -> dict[str, Any]:
    """The same of a ``Learned`` for ``--json``."""
    from dataclasses import asdict

    return {
        "exit_code": exit_code,
        "run": str(found.run),
        "probe": None if found.probe is None else str(found.probe),
        "answers": [asdict(answer) for answer in found.answers],
        "curve": [asdict(point) for point in found.curve],
    }


def _curve_lines(curve: Sequence[Point]) -> Iterator[str]:
    """One line for each evaluation, below the name of its metric."""
    metric = None
    for point in curve:
        if point.metric != metric:
            metric = point.metric
            yield f"Learning curve: {one_line(metric, limit=200)}"
            yield f"{'step':>12}  {'mean':>10}  {'std':>10}"
        std = "-" if point.std is None else f"{point.std:.2f}"
        yield f"{point.step:>12,}  {point.mean:>10.2f}  {std:>10}"
