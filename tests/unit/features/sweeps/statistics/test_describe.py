"""One metric over seeds, from curves to statistics."""

import math

import numpy as np
import pytest

from reprokit.core.statistics.windows import Window
from reprokit.features.sweeps.statistics import describe
from reprokit.features.sweeps.statistics.describe import Curves

STEPS = np.arange(1.0, 6.0)


def generator(seed=0):
    return np.random.default_rng(seed)


def curves(*values, metric="eval/return", steps=None):
    return Curves(
        metric=metric,
        seeds=tuple(range(1, len(values) + 1)),
        steps=tuple(steps or [STEPS] * len(values)),
        values=tuple(np.array(one, dtype=float) for one in values),
    )


def described(*found, windows=("last", "mean_last_2")):
    return describe.describe(found, windows=list(map(Window.parse, windows)), generator=generator())


def test_every_window_of_every_metric_has_its_statistics():
    found = described(curves(range(5), range(1, 6)), curves(range(5), range(5), metric="loss"))
    assert [(one.metric, [window.window for window in one.windows]) for one in found] == [
        ("eval/return", ["last", "mean_last_2"]),
        ("loss", ["last", "mean_last_2"]),
    ]
    last = found[0].of("last")
    assert (last.values, last.summary.mean, last.summary.num_seeds) == ({1: 4.0, 2: 5.0}, 4.5, 2)
    assert [one.method for one in last.intervals] == ["student_t", "bootstrap", "bootstrap"]
    assert found[1].of("last").summary.zero_variance
    assert found[0].band.mean.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]


def test_seeds_that_log_at_other_steps_are_taken_one_by_one():
    other = [STEPS, np.array([1.0, 2.0])]
    (found,) = described(curves(range(5), [7, 8], steps=other), windows=("last", "mean_last_2", "auc"))
    assert found.of("last").values == {1: 4.0, 2: 8.0}
    assert found.of("mean_last_2").values == {1: 3.5, 2: 7.5}
    assert found.of("auc").values == {1: 8.0, 2: 7.5}
    assert found.band.num_steps_left_out == 3


def test_a_window_that_one_seed_has_not_is_refused_for_all():
    (found,) = described(curves(range(5), [7], steps=[STEPS, STEPS[:1]]), windows=("mean_last_2",))
    window = found.of("mean_last_2")
    assert set(window.summary.refused.values()) == {"seed 2: a run has 1 of the 2 values that it takes"}
    assert {one.refused for one in window.intervals} == set(window.summary.refused.values())
    assert window.variability.refused == window.normality.refused == window.intervals[0].refused


def test_seeds_that_never_arrive_are_counted_and_nothing_is_estimated():
    (found,) = described(curves(range(5), [0] * 5), windows=("first_step_at_least_3",))
    window = found.windows[0]
    assert window.summary.mean is None
    assert window.notes == ("1 of 2 seeds never reached it",)
    assert window.summary.refused["mean"] == window.intervals[1].refused == window.notes[0]


def test_what_is_not_finite_names_its_seeds():
    many = [[1, 2, 3, 4, math.nan]] * 7 + [[1, 2, 3, math.inf, 5]]
    (found,) = described(curves(*many), windows=("last", "best_high"))
    assert found.of("last").notes == ("not finite: seed 1, seed 2, seed 3, seed 4, seed 5 and 2 more",)
    assert found.of("last").summary.mean is None
    best = found.of("best_high")
    assert best.values[8] == 5
    assert best.notes[0].startswith("values that are not finite were left out: seed 1: 1, seed 2: 1")


def test_one_seed_of_the_generator_gives_one_answer():
    values = generator(1).normal(size=(12, 5))
    first, again = described(curves(*values)), described(curves(*values))
    assert [one.windows for one in first] == [one.windows for one in again]
    assert first[0].of("last").intervals[1].low is not None


def test_two_groups_are_held_against_each_other():
    lower, higher = generator(2).normal(size=(12, 5)), generator(3).normal(size=(12, 5)) + 3
    first, second = (described(curves(*side))[0].of("last") for side in (lower, higher))
    found = describe.between(first, second, metric="eval/return", generator=generator())
    assert [test.name for test in found.tests] == ["t", "welch", "mann_whitney", "brown_forsythe", "levene"]
    assert found.improvement.probability > 0.9
    assert found.improvement.low < found.improvement.probability
    below, above = found.profiles
    assert (below.shares <= above.shares).all()
    assert (found.metric, found.window) == ("eval/return", "last")


def test_a_group_with_a_value_that_is_not_finite_has_no_profile():
    ordinary = [range(5), range(1, 6), range(2, 7)]
    first, second = (
        described(curves(*ordinary, last))[0].of("last") for last in (range(5), [1, 2, 3, 4, math.nan])
    )
    found = describe.between(first, second, metric="a", generator=generator())
    assert found.profiles is None
    assert "not finite" in found.improvement.refused
    assert all("not finite" in test.refused for test in found.tests)


@pytest.mark.parametrize("count", [1, 2])
def test_few_seeds_are_described_as_far_as_they_go(count):
    (found,) = described(curves(*[range(5)] * count))
    last = found.of("last")
    assert last.summary.mean == 4.0
    assert all(one.refused for one in last.intervals)
