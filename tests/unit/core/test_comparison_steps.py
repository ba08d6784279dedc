"""Steps: repeated, skipped, reordered, uneven, missing."""

import pytest

from reprokit.core.comparing.steps import NAMES, StepWatch, name_in
from reprokit.core.json_values import MISSING
from reprokit.core.problems import ProblemLog


def seen(expected, actual):
    log = ProblemLog()
    watch = StepWatch(log)
    for line, pair in enumerate(zip(expected, actual, strict=True), start=1):
        watch.see(*pair, lines=(line, line))
    return [(problem.kind, problem.side, problem.line, problem.severity) for problem in log.problems()]


@pytest.mark.parametrize(
    ("steps", "kind", "line"),
    [
        ([1, 2, 2, 3], "duplicate_step", 3),
        ([1, 2, 1], "reordered_step", 3),
        ([1, 2, 4], "uneven_steps", 3),
        ([1, 2, MISSING, 3], "missing_step", 3),
        ([1, 2, None], "odd_step", 3),
        ([1, 2, float("nan")], "odd_step", 3),
        ([1, 2, "3"], "odd_step", 3),
        ([1, 2, 10**5000], "odd_step", 3),
    ],
)
def test_what_both_have_alike_is_a_warning(steps, kind, line):
    assert seen(steps, steps) == [(kind, "both", line, "warning")]


@pytest.mark.parametrize(
    "steps", [[0, 256, 512], [5], [], [0.1, 0.2, 0.30000000000000004, 0.4], [3, 2**53, 2**54 - 3]]
)
def test_regular_steps_are_no_problem(steps):
    assert seen(steps, steps) == []


@pytest.mark.parametrize(
    "steps",
    [[1, 2, 2], [1, 2, 1], [1, 2, 4], [1, 2, MISSING], [1, 2, None]],
    ids=["duplicate", "reordered", "uneven", "missing", "odd"],
)
def test_what_both_have_alike_is_told_by_the_line_of_expected(steps):
    log = ProblemLog()
    watch = StepWatch(log)
    for at, step in enumerate(steps):
        assert watch.see(step, step, lines=(10 + at, 20 + at))
    assert [problem.line for problem in log.problems()] == [12]


@pytest.mark.parametrize(
    ("expected", "actual", "kind", "side", "line", "step"),
    [
        ([1, 2, 3], [1, 2, 4], "skipped_step", "actual", 22, 3),
        ([1, 2, 4], [1, 2, 3], "skipped_step", "expected", 12, 3),
        ([1, 2, 3], [1, 2, 2], "duplicate_step", "actual", 22, 2),
        ([1, 2, 2], [1, 2, 3], "duplicate_step", "expected", 12, 2),
        ([1, 2, 3], [1, 2, 1], "reordered_step", "actual", 22, 1),
        ([1, 2, 1], [1, 2, 3], "reordered_step", "expected", 12, 1),
    ],
)
def test_what_one_side_has_alone_is_told_by_its_line_and_step(expected, actual, kind, side, line, step):
    log = ProblemLog()
    watch = StepWatch(log)
    for at, pair in enumerate(zip(expected, actual, strict=True)):
        watch.see(*pair, lines=(10 + at, 20 + at))
    (problem,) = log.problems()
    assert (problem.kind, problem.side, problem.line) == (kind, side, line)
    assert problem.message.endswith(f": step {step}")


def test_a_step_that_one_side_lacks_is_not_equal_and_is_named_by_the_comparer():
    assert seen([1, 2, 3], [1, MISSING, 3]) == []
    assert not StepWatch(ProblemLog()).see(1, MISSING, lines=(1, 1))


@pytest.mark.parametrize(
    ("actual", "kind", "side", "line"),
    [
        ([1, 2, 4, 5], "skipped_step", "actual", 3),
        ([1, 2, 2, 3], "duplicate_step", "actual", 3),
        ([1, 2, 1, 2], "reordered_step", "actual", 3),
        ([1, 2, 2.5, 3], "skipped_step", "expected", 3),
        ([1, 2, "3", 4], "step_changed", "actual", 3),
    ],
)
def test_what_one_side_has_alone_is_a_difference(actual, kind, side, line):
    assert (kind, side, line, "difference") in seen([1, 2, 3, 4], actual)


@pytest.mark.parametrize(
    ("expected", "kind"),
    [([1, 2, 2, 3], "duplicate_step"), ([1, 2, 1, 2], "reordered_step"), ([1, 2, 4], "skipped_step")],
)
def test_the_expected_side_can_be_the_odd_one(expected, kind):
    assert (kind, "expected", 3, "difference") in seen(expected, [1, 2, 3, 4][: len(expected)])


def test_one_skipped_step_is_said_once_though_all_that_follow_are_moved():
    assert len(seen(range(100), [*range(50), *range(51, 101)])) == 1


@pytest.mark.parametrize("steps", [[0, 8, 16], [0, 8, 8, 16], [0], [16, 8, 0], [0, 8, 17, 25]])
@pytest.mark.parametrize("before", [[], [-8], [-16, -8], [-8, -8]])
def test_many_at_once_are_seen_as_one_by_one(before, steps):
    logs = ProblemLog(), ProblemLog()
    watches = StepWatch(logs[0]), StepWatch(logs[1])
    for line, step in enumerate(before, start=1):
        for watch in watches:
            watch.see(step, step, lines=(line, line))
    first = len(before) + 1
    watches[0].see_many(steps, first_lines=(first, first))
    for line, step in enumerate(steps, start=first):
        watches[1].see(step, step, lines=(line, line))
    for watch in watches:
        watch.see(99, 99, lines=(50, 50))
    assert logs[0].problems() == logs[1].problems()


def test_the_likeliest_name_of_a_step_is_taken():
    assert name_in({"epoch": 1, "global_step": 2}) == "global_step"
    assert name_in({"loss": 1}) is None


def test_the_names_under_which_programs_keep_their_step_are_known_in_this_order():
    assert NAMES == (
        "step",
        "global_step",
        "_step",
        "Step",
        "total_timesteps",
        "time/total_timesteps",
        "timesteps",
        "current_steps",
        "num_updates",
        "iteration",
        "epoch",
        "iter",
        "Iteration",
        "Iter",
        "iterations",
        "Epoch",
        "round",
        "trial",
        "Trial",
    )
