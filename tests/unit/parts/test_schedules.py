"""Shares of a schedule at both ends and between, and intervals that are due."""

import pytest

from recipes.parts.schedules import falling, is_due, rising


@pytest.mark.parametrize(("step", "expected"), [(0, 0.0), (25, 0.25), (100, 1.0), (1_000, 1.0)])
def test_a_share_rises_in_a_line_and_stays(step, expected):
    assert rising(step, over=100) == expected
    assert rising(step, over=0) == 1.0


@pytest.mark.parametrize(("step", "expected"), [(0, 1.0), (25, 0.75), (100, 0.0), (1_000, 0.0)])
def test_a_share_falls_in_a_line_and_stays(step, expected):
    assert falling(step, over=100) == expected


@pytest.mark.parametrize(
    ("interval", "before", "now", "due"),
    [(5000, 0, 4096, False), (5000, 4096, 8192, True), (5000, 4992, 5000, True), (5000, 5000, 5008, False)],
)
def test_something_is_due_at_the_first_end_of_an_update_at_or_after_the_interval(interval, before, now, due):
    assert is_due(interval, before, now) is due
