"""The numbers behind a chart, which the page's script reads to show values, zoom and draw differences."""

from __future__ import annotations

import json
import math
import struct
from base64 import b64encode
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from reprokit.core.report_parts import DrawnCurve
from reprokit.reports.charts.axes import finite
from reprokit.reports.escaping import Visible, shortened

_LARGEST_WHOLE = 2.0**53


def chart_data(
    series: Sequence[tuple[str, DrawnCurve]], *, marked: float | None, is_log: bool = False
) -> Visible:
    """JSON of the lines in the order in which they are drawn.

    Args:
        series: The kind of each line, such as ``golden`` or ``run-0``, and its curve.
        marked: The step of the first divergence.
        is_log: The chart is drawn on a logarithmic scale.

    Returns:
        ``lines`` (``label``, ``kind``, ``steps``, ``values``), ``marked`` and ``log``. Values are float64 in
        base64, NaN where there is no number: exact, and half as long as their digits. Whole steps are the
        first and the distance of each next one. What an earlier line has already is the number of that line.
    """
    seen: dict[str, dict[str, int]] = {"steps": {}, "values": {}}
    lines: list[dict[str, Any]] = []
    for kind, one in series:
        line: dict[str, Any] = {"label": shortened(one.label, width=80), "kind": kind}
        for name, text in (("steps", _steps(one.steps)), ("values", _packed(one.values))):
            line[name] = seen[name].get(text, text)
            seen[name].setdefault(text, len(lines))
        lines.append(line)
    found = {"lines": lines, "marked": marked, "log": is_log}
    return Visible(json.dumps(found, separators=(",", ":"), allow_nan=False))


def _steps(steps: Sequence[float]) -> str:
    numbers = [finite(step) for step in steps]
    whole = [int(one) for one in numbers if one is not None and one % 1 == 0 and abs(one) < _LARGEST_WHOLE]
    if len(whole) < len(numbers) or not whole:
        return f"={_packed(steps)}"
    return " ".join(map(str, (whole[0], *(after - before for before, after in pairwise(whole)))))


def _packed(values: Sequence[float | None]) -> str:
    numbers = [math.nan if (number := finite(value)) is None else number for value in values]
    return b64encode(struct.pack(f"<{len(numbers)}d", *numbers)).decode("ascii")
