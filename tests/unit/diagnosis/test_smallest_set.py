"""The search over suspicions: what is held must be enough, and nothing in it superfluous."""

from hypothesis import given
from hypothesis import strategies as st

from reprokit.diagnosis import isolate


def test_one_cause_among_many_is_found():
    assert isolate(range(16), enough=lambda held: 11 in held) == (11,)


def test_two_causes_are_both_found():
    assert isolate(range(16), enough=lambda held: {3, 12} <= set(held)) == (3, 12)


def test_what_comes_last_is_left_out_where_the_rest_is_enough():
    assert isolate(["line", "hash seed"], enough=bool, last=["hash seed"]) == ("line",)


def test_what_comes_last_is_kept_where_nothing_else_does():
    held = isolate(["line", "hash seed"], enough=lambda held: "hash seed" in held, last=["hash seed"])
    assert held == ("hash seed",)


def test_no_experiment_is_made_twice():
    asked = []

    def enough(held):
        asked.append(held)
        return {2, 5} <= set(held)

    isolate(range(8), enough=enough)
    assert len(asked) == len(set(asked))


@given(st.sets(st.integers(0, 23), min_size=1), st.integers(24, 30))
def test_exactly_the_causes_are_found_whatever_they_are(causes, size):
    found = isolate(range(size), enough=lambda held: causes <= set(held))
    assert set(found) == causes


def test_four_causes_among_four_are_found_in_six_experiments():
    asked = []

    def enough(held):
        asked.append(held)
        return len(held) == 4

    assert isolate(range(4), enough=enough) == (0, 1, 2, 3)
    assert len(asked) == 6


def test_what_is_likely_is_found_in_fewer_experiments():
    asked = []

    def enough(held):
        asked.append(held)
        return 11 in held

    assert isolate(range(16), enough=enough, weight=lambda one: 32.0 if one == 11 else 1.0) == (11,)
    assert len(asked) == 3  # with it, without it, it alone


@given(st.sets(st.integers(0, 11), min_size=1), st.lists(st.floats(0.1, 100), min_size=12, max_size=12))
def test_what_is_likely_changes_no_answer(causes, weights):
    found = isolate(range(12), enough=lambda held: causes <= set(held), weight=weights.__getitem__)
    assert set(found) == causes
