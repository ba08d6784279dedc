from __future__ import annotations

import base64
import json
import math
import struct
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reprokit.core.report_parts import DrawnCurve
from reprokit.reports.charts.chart_data import DataLine, chart_data


def _curve(values: list[Any], *, label: str = "run 1", steps: list[Any] | None = None) -> DrawnCurve:
    return DrawnCurve(label=label, steps=steps or list(range(len(values))), values=values)


def _read(curve: DrawnCurve) -> tuple[list[float], list[float]]:
    """Steps and values as a reader of the data sees them."""
    (line,) = json.loads(chart_data([DataLine(kind="run-0", curve=curve)], marked=None))["lines"]
    if line["steps"].startswith("="):
        steps = _unpacked(line["steps"][1:])
    else:
        distances = [int(one) for one in line["steps"].split()]
        steps = [float(sum(distances[: at + 1])) for at in range(len(distances))]
    return steps, _unpacked(line["values"])


def _unpacked(text: str) -> list[float]:
    data = base64.b64decode(text)
    return list(struct.unpack(f"<{len(data) // 8}d", data))


@given(st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.floats()), min_size=1))
def test_every_step_and_value_is_kept_to_the_last_bit(points: list[tuple[float, float]]) -> None:
    steps, values = [x for x, _ in points], [y for _, y in points]

    kept = _read(_curve(values, steps=steps))

    assert kept[0] == steps
    for one, other in zip(kept[1], values, strict=True):
        assert one == other if math.isfinite(other) else math.isnan(one)


def test_what_is_no_number_is_not_a_number() -> None:
    _, values = _read(_curve([1.0, None, True, "2", 10**400, math.inf]))

    assert values[0] == 1.0
    assert all(map(math.isnan, values[1:]))


def test_whole_steps_are_the_first_and_the_distances() -> None:
    curve = _curve([0.0, 0.0, 0.0], steps=[2048, 4096, 4097])

    (line,) = json.loads(chart_data([DataLine(kind="run-0", curve=curve)], marked=4096))["lines"]

    assert line["steps"] == "2048 2048 1"


def test_a_curve_that_an_earlier_line_has_already_is_named_and_not_repeated() -> None:
    series = [
        DataLine(kind="golden", curve=_curve([1.0, 2.0], label="golden")),
        DataLine(kind="run-0", curve=_curve([1.0, 2.5])),
        DataLine(kind="run-1", curve=_curve([1.0, 2.5], label="run 2")),
    ]

    lines = json.loads(chart_data(series, marked=None))["lines"]

    assert [line["steps"] for line in lines] == ["0 1", 0, 0]
    assert [isinstance(line["values"], str) for line in lines] == [True, True, False]
    assert lines[2]["values"] == 1


def test_a_label_shows_what_would_not_show_itself() -> None:
    curve = _curve([1.0, 2.0], label="a\x1b\u202e\ud800")
    found = chart_data([DataLine(kind="run-0", curve=curve)], marked=None)

    assert json.loads(found)["lines"][0]["label"] == r"a\x1b\u202e\ud800"
    assert found.isprintable()
