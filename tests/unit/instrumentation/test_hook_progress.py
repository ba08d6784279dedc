"""Which updates and steps are looked at: chosen by cost, as another run did, or all of a stretch."""

from __future__ import annotations

import pytest

from reprokit.instrumentation.reprokit_hook.progress import TrainingProgress


def updates_seen(progress, number, *, spent=0.0):
    """Go through so many updates; the numbers of those that were due, from 1."""
    seen = []
    for _ in range(number):
        due = progress.due
        if due:
            seen.append(progress.updates + 1)
        progress.updated({"parameters": "x"} if due else {}, spent=spent)
    return seen


def test_updates_are_all_looked_at_while_that_costs_nothing():
    assert updates_seen(TrainingProgress({"mode": "measure"}, "0"), 5) == [1, 2, 3, 4, 5]


def test_updates_are_looked_at_ever_less_often_where_that_costs_too_much():
    assert updates_seen(TrainingProgress({"mode": "measure"}, "0"), 40, spent=60.0) == [1, 3, 6, 11, 20, 37]


def test_another_run_looks_at_the_very_same_updates_whatever_it_costs_there():
    first = TrainingProgress({"mode": "measure"}, "0")
    seen = updates_seen(first, 40, spent=60.0)
    orders = {"mode": "follow", "schedules": {"0": first.as_data()["schedule"]}}
    assert updates_seen(TrainingProgress(orders, "0"), 40) == seen


def test_a_process_that_nobody_looked_at_is_not_looked_at_by_the_run_that_follows():
    assert updates_seen(TrainingProgress({"mode": "follow", "schedules": {}}, "0"), 5) == []


@pytest.mark.parametrize("mode", ["narrow", "deep"])
def test_every_update_of_a_stretch_is_looked_at_and_no_other(mode):
    progress = TrainingProgress({"mode": mode, "from": [3, 0], "to": [5, 0]}, "0")
    assert updates_seen(progress, 9) == [4, 5, 6]


def test_steps_of_environments_are_looked_at_in_windows():
    progress = TrainingProgress({"mode": "measure"}, "0")
    seen = []
    for number in range(400):
        if progress.window:
            seen.append(number)
            progress.spent(60.0)
        progress.steps += 1
        if progress.steps >= progress.wake:
            progress.look()
    assert seen == [*range(64), *range(128, 192), *range(320, 384)]


def test_what_came_before_an_update_is_written_before_it_and_with_its_place():
    progress = TrainingProgress({"mode": "measure"}, "0")
    progress.flush.append(lambda: progress.write("environments", {"answers": "a"}))
    progress.updated({"parameters": "x"}, spent=0.0)
    assert [(one["event"], one["updates"]) for one in progress.events] == [("environments", 0), ("update", 1)]


def test_a_forked_child_counts_from_zero():
    progress = TrainingProgress({"mode": "measure"}, "0")
    updates_seen(progress, 3)
    progress.restart("0.f1")
    assert (progress.updates, progress.events) == (0, [])
