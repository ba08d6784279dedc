"""Learning curves with bands and results seed by seed, as geometry."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from reprokit.core.statistics.intervals import student_t
from reprokit.reports.seed_plots import SeedCurve, SeedResults, curve_plot, result_plot

NAN, INF = float("nan"), float("inf")
STEPS = np.arange(5.0)


def curve(mean, *, half=1.0, label="five seeds", kind="run-0", steps=STEPS):
    mean = np.array(mean)
    return SeedCurve(label=label, kind=kind, steps=steps, mean=mean, low=mean - half, high=mean + half)


def points(piece):
    return [tuple(map(float, pair.split(","))) for pair in piece.split()]


def inside(plot):
    pieces = [piece for one in (*plot.bands, *plot.lines) for piece in one.pieces]
    return all(
        plot.left <= x <= plot.right and plot.top <= y <= plot.bottom
        for piece in pieces
        for x, y in points(piece)
    )


def test_a_band_lies_around_its_mean_from_the_first_step_to_the_last():
    plot = curve_plot("return", [curve([1.0, 2, 3, 4, 5])])
    (line,), (band,) = plot.lines[0].pieces, plot.bands[0].pieces
    assert [x for x, _ in points(line)] == pytest.approx(np.linspace(plot.left, plot.right, 5), abs=0.1)
    outline = points(band)
    for (x, y), (_, below), (_, above) in zip(points(line), outline[:5], reversed(outline[5:]), strict=True):
        assert above < y < below, x
    assert inside(plot)


def test_steps_without_a_number_are_gaps_and_crosses_and_are_counted():
    plot = curve_plot("loss", [curve([1.0, 2, NAN, 4, INF])])
    assert [len(points(one)) for one in plot.lines[0].pieces] == [2]
    assert len(plot.bands[0].pieces) == 1
    crosses = [mark for mark in plot.marks if mark.shape == "cross"]
    assert [mark.told for mark in crosses] == [f"five seeds: not finite at step {step}" for step in (2, 4)]
    assert [mark.shape for mark in plot.marks].count("dot") == 1  # step 3 stands alone
    assert plot.notes == (
        "five seeds: at 2 of 5 steps the value of some seed is not finite; nothing is drawn there (×).",
    )


def test_a_golden_is_a_line_without_a_band():
    golden = SeedCurve(label="golden, seed 42", kind="golden", steps=STEPS, mean=STEPS)
    plot = curve_plot("return", [golden, curve([1.0, 2, 3, 4, 5])])
    assert [line.kind for line in plot.lines] == ["golden", "run-0"]
    assert [band.kind for band in plot.bands] == ["run-0"]
    assert plot.summary == "return over steps; golden, seed 42 ends at 4, five seeds ends at 5"


def test_an_interval_far_beyond_the_curves_is_cut_and_said_to_be():
    plot = curve_plot("return", [curve([1.0, 2, 3, 4, 5], half=1000.0)])
    assert inside(plot)
    assert plot.notes == ("An interval goes beyond the plot.",)


@pytest.mark.parametrize("mean", [[NAN] * 5, [1.0, NAN, NAN, NAN, NAN]])
def test_fewer_than_two_numbers_are_no_curve(mean):
    assert curve_plot("return", [curve(mean)]) is None


def test_no_step_is_no_curve():
    assert curve_plot("return", [curve([], steps=np.empty(0))]) is None


@pytest.mark.parametrize("values", [[-1e308, 1e308], [0.0, 0.0], [1e-320, 2e-320], [5e307, NAN]])
def test_extreme_values_are_drawn_inside_the_plot(values):
    steps = np.array([0.0, 1.0])
    plot = curve_plot("x", [SeedCurve(label="a", kind="run-0", steps=steps, mean=np.array(values))])
    assert plot is None or inside(plot)


def test_a_long_curve_keeps_its_peak_and_its_gaps():
    mean = np.sin(np.arange(20_000) / 500)
    mean[7_777], mean[12_345] = 9.0, NAN
    plot = curve_plot("x", [curve(mean, half=0.0, steps=np.arange(20_000.0))])
    assert sum(len(points(piece)) for piece in plot.lines[0].pieces) < 1_000
    assert min(y for piece in plot.lines[0].pieces for _, y in points(piece)) < plot.top + 40
    assert [mark.told for mark in plot.marks if mark.shape == "cross"] == [
        "five seeds: not finite at step 12,345"
    ]


def results(values, **options):
    named = {f"seed {seed}": value for seed, value in enumerate(values)}
    return SeedResults(label="cartpole", kind="run-0", values=named, **options)


def test_every_seed_is_a_mark_and_the_mean_has_its_interval():
    values = [489.5, 495.6, 482.1, 487.9, 488.4]
    interval = student_t(values)
    plot = result_plot("return", "last value", [results(values, mean=488.7, interval=interval)])
    assert [mark.shape for mark in plot.marks] == ["dot"] * 5 + ["mean"]
    assert {mark.told for mark in plot.marks[:5]} == {
        f"cartpole, seed {at}: {v}" for at, v in enumerate(values)
    }
    (span,) = plot.spans
    assert span.told == "cartpole: mean 488.7, 95 % interval 482.728 to 494.672"
    assert plot.left <= span.left < span.right <= plot.right
    assert plot.summary == "return; cartpole: 5 seeds from 482.1 to 495.6, mean 488.7"


def test_seeds_that_ended_alike_do_not_hide_each_other():
    plot = result_plot("return", "last value", [results([500.0] * 20 + [480.0], mean=499.0)])
    places = {(mark.x, mark.y) for mark in plot.marks if mark.shape == "dot"}
    assert len(places) == 21
    assert plot.spans == ()


def test_a_value_that_is_no_number_is_a_cross_beside_the_plot():
    plot = result_plot(
        "return", "last value", [results([1.0, NAN, -INF], notes=("not finite: seed 1, seed 2",))]
    )
    crosses = [mark for mark in plot.marks if mark.shape == "cross"]
    assert [mark.told for mark in crosses] == ["cartpole, seed 1: NaN", "cartpole, seed 2: -Infinity"]
    assert all(mark.x > plot.right for mark in crosses)
    assert not [mark for mark in plot.marks if mark.shape == "mean"]
    assert plot.notes == ("cartpole: not finite: seed 1, seed 2.",)


def test_only_values_that_are_no_numbers_are_still_a_plot():
    plot = result_plot("return", "last value", [results([NAN, NAN])])
    assert [mark.shape for mark in plot.marks] == ["cross", "cross"]
    assert plot.summary == "return; cartpole: no finite number"


def test_rows_of_groups_stand_below_each_other():
    plot = result_plot("return", "last value", [results([1.0, 2.0], mean=1.5)] * 3)
    heights = [row.y for row in plot.rows]
    assert all(after - before > 40 for before, after in itertools.pairwise(heights))
    assert max(mark.y for mark in plot.marks) < plot.bottom < plot.height


def test_long_names_of_rows_keep_the_ends_that_tell_them_apart():
    names = [f"command=[python, train.py, {'a' * 60}] lr={rate}" for rate in (0.1, 0.2)]
    plot = result_plot(
        "return", "", [SeedResults(label=name, kind="run-0", values={"seed 1": 1.0}) for name in names]
    )
    assert [row.text[-6:] for row in plot.rows] == ["lr=0.1", "lr=0.2"]
    assert not [row for row in plot.rows if "more character" in row.text]
