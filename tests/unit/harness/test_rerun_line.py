"""The line that anyone can type again asks for all that was judged."""

from reprokit.harness.reproduce import rerun_line

RECORD = {"recipe": "x", "seed": 7, "backend_asked": "local"}


def test_a_judgement_of_resuming_is_asked_for_again_at_the_same_place():
    line = rerun_line(RECORD, stopped={"stop_at": 16384})
    assert line == "make reproduce RECIPE=x SEED=7 'ARGS=--backend local --resume --stop-at 16384'"


def test_where_nobody_knows_the_place_it_is_drawn_again():
    assert (
        rerun_line({"recipe": "x", "seed": 7}, stopped={}) == "make reproduce RECIPE=x SEED=7 ARGS=--resume"
    )


def test_without_it_nothing_is_added():
    assert rerun_line(RECORD) == "make reproduce RECIPE=x SEED=7 'ARGS=--backend local'"
