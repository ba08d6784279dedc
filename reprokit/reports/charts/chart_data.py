"""The numbers behind a chart, which the page's script reads to show values, zoom and draw differences."""

from __future__ import annotations

import json
import math
import struct
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from reprokit.core.report_parts import DrawnCurve
from reprokit.reports.charts.axes import finite
from reprokit.reports.escaping import Visible, shortened

DOTS, SEED = "dots", "seed"
_LARGEST_WHOLE = 2.0**53


@dataclass(frozen=True, slots=True, kw_only=True)
class DataLine:
    """One line of a chart.

    Attributes:
        kind: Its colour, such as ``golden`` or ``run-0``.
        curve: Its points.
        low: With ``high`` the limits of a band around it.
        form: ``DOTS`` for points that no line connects; ``SEED`` for one of the runs behind a mean, which is
            drawn where it is asked for; "" for a line.
    """

    kind: str
    curve: DrawnCurve
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    form: str = ""


def chart_data(
    lines: Sequence[DataLine],
    *,
    marked: float | None,
    is_log: bool = False,
    across: str = "step",
    thinned: bool = False,
) -> Visible:
    """JSON of the lines in the order in which they are drawn.

    Args:
        lines: What is drawn.
        marked: The step of the first divergence.
        is_log: The chart is drawn on a logarithmic scale.
        across: What the horizontal axis counts.
        thinned: A line may lack a record that another has, because it was left out of the drawing.

    Returns:
        ``lines`` (``label``, ``kind``, ``steps``, ``values``, and ``low``, ``high``, ``form`` where it has
        them), ``marked``, ``log``, ``across`` and ``thinned``. Values are float64 in base64, NaN where there
        is no number: exact, and half as long as their digits. Whole steps are the first and the distance of
        each next one. What an earlier line has already is the number of that line.
    """
    seen: dict[str, dict[str, int]] = {"steps": {}, "values": {}}
    found: list[dict[str, Any]] = []
    for one in lines:
        line: dict[str, Any] = {"label": shortened(one.curve.label, width=80), "kind": one.kind}
        for name, text in (("steps", _steps(one.curve.steps)), ("values", _packed(one.curve.values))):
            line[name] = seen[name].get(text, text)
            seen[name].setdefault(text, len(found))
        if one.low is not None and one.high is not None:
            line |= {"low": _packed(one.low), "high": _packed(one.high)}
        found.append(line | ({"form": one.form} if one.form else {}))
    told = {"lines": found, "marked": marked, "log": is_log, "across": across, "thinned": thinned}
    return Visible(json.dumps(told, separators=(",", ":"), allow_nan=False))


def _steps(steps: Sequence[float]) -> str:
    numbers = [finite(step) for step in steps]
    whole = [int(one) for one in numbers if one is not None and one % 1 == 0 and abs(one) < _LARGEST_WHOLE]
    if len(whole) < len(numbers) or not whole:
        return f"={_packed(steps)}"
    return " ".join(map(str, (whole[0], *(after - before for before, after in pairwise(whole)))))


def _packed(values: Sequence[float | None]) -> str:
    numbers = [math.nan if (number := finite(value)) is None else number for value in values]
    return b64encode(struct.pack(f"<{len(numbers)}d", *numbers)).decode("ascii")
