"""The learning curve as a table."""

from __future__ import annotations

from reprokit.features.learning.curve import Point, learning_curve


def test_every_evaluation_is_a_row_with_its_deviation_at_the_same_step():
    curves = {
        "eval/return_mean": ([5000, 10000], [40.0, 500.0]),
        "eval/return_std": ([10000], [2.5]),
        "train/episodic_return": ([5000], [20.0]),
    }
    assert learning_curve(curves) == (
        Point(metric="eval/return_mean", step=5000, mean=40.0, std=None),
        Point(metric="eval/return_mean", step=10000, mean=500.0, std=2.5),
    )


def test_each_task_has_a_curve_of_its_own():
    curves = {f"eval/{task}/return_mean": ([1], [0.0]) for task in ("b", "a")}
    assert [point.metric for point in learning_curve(curves)] == ["eval/a/return_mean", "eval/b/return_mean"]


def test_a_long_curve_keeps_its_first_and_last_row_and_no_more_rows_than_asked():
    steps = list(range(101))
    rows = learning_curve({"eval/return_mean": (steps, [float(step) for step in steps])}, most=5)
    assert [row.step for row in rows] == [0, 25, 50, 75, 100]


def test_a_run_without_evaluations_has_no_curve():
    assert learning_curve({"loss": ([1], [1.0])}) == ()
