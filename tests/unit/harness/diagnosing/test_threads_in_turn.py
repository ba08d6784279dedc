"""Threads that run in turn: what is named where their order decides, and how rarely by luck."""

from __future__ import annotations

import random

import pytest

from reprokit.harness.diagnosing.threads_in_turn import in_turn
from support.known_program_lab import Lab, asked

FIRST, SECOND = "thread_order|train.py|8", "thread_order|train.py|9"


def decided_by(*sites):
    """A number of its own in every run, but where the threads of these sites are in turn."""

    def number(drawn, run, given):
        held = "*" in given.serial or set(sites) <= set(given.serial)
        return 1000 if held else run

    return number


@pytest.mark.parametrize("cause", [[FIRST], [SECOND], [FIRST, SECOND]])
def test_the_threads_whose_order_decides_are_named(cause):
    inquiry = asked(Lab(decided_by(*cause), names=(FIRST, SECOND)))
    assert [one.line for one in in_turn(inquiry)] == [int(one.rpartition("|")[2]) for one in cause]
    assert inquiry.odds_of_others.enough


def test_threads_whose_order_decides_nothing_are_not_named():
    assert in_turn(asked(Lab(lambda drawn, run, given: run, names=(FIRST, SECOND)))) == ()


@pytest.mark.parametrize(
    "odds", [[0.5, 0.5], [0.8, 0.2], [0.4, 0.3, 0.3], [0.1] * 10, [0.4] + [0.05] * 12, [0.6] + [0.02] * 20]
)
def test_where_the_order_of_threads_decides_nothing_luck_seldom_passes_for_it(odds):
    chance = random.Random(3)
    named = made = 0
    while made < 300:
        lab = Lab(lambda *_: chance.choices(range(len(odds)), odds)[0], names=(FIRST, SECOND))
        inquiry = asked(lab)
        if not lab.equal(inquiry.first, inquiry.other):
            made += 1
            named += bool(in_turn(inquiry))
    assert named / made < 0.02
