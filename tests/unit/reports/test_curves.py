from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest

from reprokit.core.checklist import Report, Verdict
from reprokit.core.comparing.difference import Divergence
from reprokit.core.report_parts import DrawnCurve
from reprokit.reports.charts.curves import HEIGHT, WIDTH, Chart, charts

Sample = Callable[[Verdict], Report]


def _series(values: list[Any], *, label: str = "run 1", steps: list[Any] | None = None) -> DrawnCurve:
    return DrawnCurve(label=label, steps=steps or list(range(len(values))), values=values)


def _at(step: Any) -> Divergence:
    return Divergence(record=0, step=step, metric="m", expected=0.0, actual=1.0)


@pytest.fixture
def chart_of(sample_report: Sample) -> Callable[..., Chart]:
    def draw(*series: DrawnCurve, divergence: Divergence | None = None) -> Chart:
        report = dataclasses.replace(
            sample_report(Verdict.REPRODUCED), curves={"m": list(series)}, divergence=divergence
        )
        (chart,) = charts(report).shown
        return chart

    return draw


def _points(chart: Chart) -> list[tuple[float, float]]:
    found = [pair.split(",") for line in chart.lines for piece in line.pieces for pair in piece.split()]
    return [(float(x), float(y)) for x, y in found] + [dot for line in chart.lines for dot in line.dots]


def test_the_metric_that_diverged_comes_first(sample_report: Sample) -> None:
    found = charts(sample_report(Verdict.REGRESSION))

    assert [chart.metric for chart in found.shown][:2] == ["losses/policy_loss", "charts/episodic_return"]
    assert [chart.diverged for chart in found.shown] == [True] + [False] * 5


def test_the_golden_lies_under_the_runs_and_each_series_has_its_kind(sample_report: Sample) -> None:
    found = charts(sample_report(Verdict.REGRESSION))

    assert [(line.label, line.kind) for line in found.legend] == [
        ("golden", "golden"),
        ("run 1", "run-0"),
        ("run 2", "run-1"),
    ]


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.0, 3.0],
        [5.0, None, 5.0],
        [0.0, 0.0],
        [-1e308, 1e308],
        [1.7976931348623157e308, -1.7976931348623157e308],
        [5e-324, 0.0],
        [1.0, 1.0000000000000002],
        [1e-320, 2e-320],
        [10**400, 1, 2],
        [-3, 10**15],
    ],
    ids=str,
)
def test_every_point_and_tick_lies_inside_its_chart(
    chart_of: Callable[..., Chart], values: list[Any]
) -> None:
    chart = chart_of(_series(values))

    for x, y in _points(chart):
        assert chart.left <= x <= chart.right <= WIDTH
        assert chart.top <= y <= chart.bottom <= HEIGHT
    for tick in chart.y_ticks:
        assert chart.top <= tick.at <= chart.bottom
    for tick in chart.x_ticks:
        assert chart.left <= tick.at <= chart.right
    assert chart.x_ticks
    assert chart.y_ticks
    assert 0 < chart.left < WIDTH / 2


def test_larger_values_lie_higher_and_later_steps_further_right(chart_of: Callable[..., Chart]) -> None:
    (first, second) = _points(chart_of(_series([1.0, 2.0])))

    assert first[0] < second[0]
    assert first[1] > second[1]


def test_what_is_no_number_is_a_gap_and_a_lone_point_a_dot(chart_of: Callable[..., Chart]) -> None:
    chart = chart_of(_series([1.0, 2.0, None, 3.0, math.nan, math.inf, True, 4.0, 5.0]))

    (line,) = chart.lines
    assert len(line.pieces) == 2
    assert len(line.dots) == 1


def test_a_metric_without_a_number_or_with_one_record_has_no_chart(sample_report: Sample) -> None:
    report = dataclasses.replace(
        sample_report(Verdict.REPRODUCED),
        curves={
            "a": [_series([None, math.nan])],
            "b": [],
            "c": [_series([1.0, 2.0])],
            "d": [_series([1.0])] * 2,
        },
    )

    found = charts(report)

    assert [chart.metric for chart in found.shown] == ["c"]
    assert found.num_single == 1


def test_every_step_tells_the_exact_values_of_all_series(sample_report: Sample) -> None:
    series = [_series([0.1, 0.30000000000000004], label=label) for label in ("golden", "run 1")]
    series[1].values[1] = math.nan
    report = dataclasses.replace(sample_report(Verdict.REGRESSION), curves={"loss": series})

    [chart] = charts(report).shown

    assert [stop.told for stop in chart.stops] == [
        "step 0: golden 0.1, run 1 0.1",
        "step 1: golden 0.30000000000000004, run 1 NaN",
    ]
    assert chart.stops[0].left == chart.left
    assert chart.stops[-1].left + chart.stops[-1].width == pytest.approx(chart.right)


def test_a_step_outside_of_what_is_drawn_has_no_place_for_the_pointer(chart_of: Callable[..., Chart]) -> None:
    stops = chart_of(_series([None, 1.0, 2.0, None], steps=[0, 10, 20, 30])).stops

    assert [stop.told for stop in stops] == ["step 10: run 1 1.0", "step 20: run 1 2.0"]
    assert all(stop.width > 0 for stop in stops)


def test_many_steps_are_thinned_for_the_pointer(chart_of: Callable[..., Chart]) -> None:
    assert len(chart_of(_series([float(step) for step in range(1000)])).stops) == 63


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.0, 500.0], ["0", "200", "400"]),
        ([0.0, 0.02], ["0.000", "0.005", "0.010", "0.015", "0.020"]),
        ([0.0, 250_000.0], ["0", "100k", "200k"]),
        ([0.0, 3e6], ["0", "1M", "2M", "3M"]),
        ([1e-7, 3e-7], ["1e-07", "1.5e-07", "2e-07", "2.5e-07", "3e-07"]),
        ([1.0, 1.0], ["0.96", "0.98", "1.00", "1.02", "1.04"]),
    ],
    ids=str,
)
def test_ticks_are_round_numbers_with_the_digits_they_need(
    chart_of: Callable[..., Chart], values: list[float], labels: list[str]
) -> None:
    found = [tick.label for tick in chart_of(_series(values)).y_ticks]

    assert found == labels


def test_the_divergence_is_marked_at_its_step(chart_of: Callable[..., Chart]) -> None:
    chart = chart_of(_series([0.0] * 11), divergence=_at(5))

    assert chart.marker is not None
    assert chart.marker.at == pytest.approx((chart.left + chart.right) / 2)
    assert chart.marker.label == "first divergence: step 5"


@pytest.mark.parametrize("step", [None, "5", True, math.nan, -1, 11, 10**400])
def test_a_divergence_at_no_step_of_the_chart_is_not_marked(
    chart_of: Callable[..., Chart], step: Any
) -> None:
    assert chart_of(_series([0.0] * 11), divergence=_at(step)).marker is None


def test_a_chart_can_be_read_aloud(chart_of: Callable[..., Chart]) -> None:
    chart = chart_of(_series([1.0, 2.5, None]), _series([1.0, None, None], label="golden"))

    assert chart.summary == "m over steps; run 1 ends at 2.5, golden ends at 1"


def test_too_many_charts_are_cut_and_counted(sample_report: Sample) -> None:
    curves = {f"m{index:03}": [_series([1.0, 2.0])] for index in range(100)}

    found = charts(dataclasses.replace(sample_report(Verdict.REPRODUCED), curves=curves))

    assert len(found.shown) == 48
    assert found.num_cut == 52
