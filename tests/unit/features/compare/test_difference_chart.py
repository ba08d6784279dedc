from __future__ import annotations

import json

from reprokit.core.report_parts import DrawnCurve
from reprokit.features.compare.difference_chart import difference_chart


def _curve(values: list[float]) -> DrawnCurve:
    return DrawnCurve(label="x", steps=list(range(len(values))), values=values)


def test_a_long_difference_is_thinned_and_keeps_its_largest_values() -> None:
    apart = [1e-9] * 20_000
    apart[12_345], apart[777] = 3.0, 0.5

    chart = difference_chart("loss", _curve([0.0] * 20_000), _curve(apart))

    assert chart is not None
    points = [point.split(",") for piece in chart.lines[0].pieces for point in piece.split()]
    heights = sorted(float(y) for _, y in points)
    assert len(points) < 500
    assert heights[0] < heights[1] < heights[2] == heights[-1]
    assert chart.summary == "loss: 20000 of 20000 records differ, by 3 at most"


def test_the_data_for_the_script_are_differences_on_a_logarithmic_scale() -> None:
    chart = difference_chart("loss", _curve([0.0, 0.0, 0.0]), _curve([0.0, 2.0, 4.0]), [0.0, 1.0, 1.0])

    assert chart is not None
    data = json.loads(chart.data)
    assert data["log"] is True
    assert [line["label"] for line in data["lines"]] == ["difference", "the most that rounding explains"]
    assert [line["steps"] for line in data["lines"]] == ["0 1 1", "1 1"]
