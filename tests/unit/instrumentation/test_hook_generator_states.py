"""Which generators count, under which names."""

from __future__ import annotations

import random

import numpy as np

from reprokit.instrumentation.reprokit_hook.generator_states import Generators


def test_a_global_generator_counts_once_it_is_seeded():
    assert np.random  # NumPy imports it where it is first asked for
    known = Generators()
    names = {"Python's random", "NumPy's global generator"}
    assert not names & set(known.states())
    known.seeded |= {"random", "numpy"}
    assert names <= set(known.states())


def test_a_draw_shows_in_the_state_of_its_generator_and_in_no_other():
    known, one, other = Generators(), np.random.default_rng(1), random.Random(1)
    known.add(one, "train.py", 3)
    known.add(other, "train.py", 4)
    before = known.states()
    one.normal()
    after = known.states()
    assert [name for name in after if before[name] != after[name]] == ["the generator made at train.py:3"]


def test_looking_draws_nothing():
    known, one = Generators(), np.random.default_rng(1)
    known.add(one, "train.py", 3)
    known.states()
    assert one.random() == np.random.default_rng(1).random()


def test_of_many_that_one_line_makes_the_first_and_the_latest_are_known():
    known = Generators()
    for seed in range(100):
        known.add(np.random.default_rng(seed), "train.py", 3)
    assert len([name for name in known.states() if "train.py:3" in name]) == 17


def test_what_has_no_state_is_no_generator():
    known = Generators()
    known.add(object(), "train.py", 3)
    known.add(random.SystemRandom(), "train.py", 4)
    assert not [name for name in known.states() if "train.py" in name]
