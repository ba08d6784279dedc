"""What the numbers of a recipe stand on, by name."""

from reprokit.core.inputs import INPUTS, changed, names_in

ALL = {name: f"sha256:{name}" for name in INPUTS}


def test_whatever_differs_is_named_in_one_order():
    for name in INPUTS:
        assert changed(ALL, {**ALL, name: "sha256:other"}) == (name,)
    assert changed(ALL, {}) == changed({}, ALL) == tuple(INPUTS)
    assert changed(ALL, ALL) == ()


def test_parts_that_only_one_side_has_are_a_change_and_none_on_both_sides_is_not():
    without = {name: digest for name, digest in ALL.items() if name != "parts"}
    assert changed(without, ALL) == changed(ALL, without) == ("parts",)
    assert changed(without, without) == ()


def test_a_digest_that_is_no_input_is_none():
    assert changed({**ALL, "metrics": "1"}, {**ALL, "metrics": "2"}) == ()


def test_every_input_but_the_parts_must_have_a_digest():
    assert names_in({}) == ("recipe", "trainer", "runtime", "config", "lock")
    assert names_in(ALL) == tuple(INPUTS)
