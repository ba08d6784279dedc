"""Paths of two runs are the same placeholder, and long texts are told by the words that differ."""

import pytest

from reprokit.core.comparing.comparer import Comparer
from reprokit.core.texts import Placeholders, differing_words

RUNS = Placeholders({"/runs/a/1": "{run_dir}"}, {"/runs/a/2": "{run_dir}"})
MOVED = Placeholders({"20261120T102030Z-aaaa": "{run_dir}"}, {"20261120T102030Z-bbbb": "{run_dir}"})


@pytest.mark.parametrize(
    ("expected", "actual", "alike"),
    [
        ("logdir=/runs/a/1", "logdir=/runs/a/2", True),
        ("|dir|/runs/a/1/tb|", "|dir|/runs/a/2/tb|", True),
        ("/runs/a/12", "/runs/a/22", False),
        ("/runs/a/1-x", "/runs/a/2-x", False),
        ("/other/runs/a/1", "/other/runs/a/2", False),
        ("/runs/a/2", "/runs/a/1", False),
        ({"args": ["/runs/a/1"]}, {"args": ["/runs/a/2"]}, True),
        ("lr 0.1 in /runs/a/1", "lr 0.2 in /runs/a/2", False),
        (1, 2, False),
        (None, "/runs/a/2", False),
        (["/runs/a/1", None, 1], ["/runs/a/2", None, 1], True),
    ],
)
def test_a_runs_own_path_is_no_difference_and_any_other_is(expected, actual, alike):
    one, other = RUNS.put(expected, actual)
    assert (one == other) is alike


def test_a_run_that_was_moved_is_known_by_its_id_and_what_stands_before_it_counts():
    one, other = MOVED.put("dir: /a/b/20261120T102030Z-aaaa/x", "dir: /a/b/20261120T102030Z-bbbb/x")
    assert one == other == "dir: /a/b/{run_dir}/x"
    one, other = MOVED.put("acc-0.91/20261120T102030Z-aaaa", "acc-0.42/20261120T102030Z-bbbb")
    assert one != other


@pytest.mark.parametrize(
    ("expected", "actual", "words"),
    [
        ("a b c", "a x c", ("a b c", "a x c")),
        ("w " * 40 + "b" + " w" * 40, "w " * 40 + "x" + " w" * 40, ("… b …", "… x …")),
        ("w " * 40 + "b", "w " * 40, ("… b", "… ")),
        ("b" * 70, "x" * 70, ("b" * 70, "x" * 70)),
    ],
)
def test_of_long_texts_the_words_that_differ_are_told(expected, actual, words):
    assert differing_words(expected, actual) == words


def compared(*pairs, placeholders=None):
    comparer = Comparer(placeholders=placeholders)
    for expected, actual in pairs:
        comparer.add(expected, actual)
    return comparer.finish()


def test_a_number_that_differs_is_told_before_a_text_that_differs_earlier():
    texts = {"step": 0, "text": "a"}, {"step": 0, "text": "b"}
    found = compared(texts, texts, ({"step": 1, "loss": 1.0}, {"step": 1, "loss": 2.0}))
    assert (found.divergence.metric, found.divergence.record) == ("loss", 2)
    assert set(found.per_metric) == {"text", "loss"}


def test_a_text_alone_is_still_a_difference():
    found = compared(({"step": 0, "text": "a", "loss": 1.0}, {"step": 0, "text": "b", "loss": 1.0}))
    assert (found.divergence.metric, found.within_tolerance, found.identical) == ("text", False, False)


def test_texts_that_hold_their_runs_folder_are_identical():
    pair = tuple({"step": 0, "text": f"in /runs/a/{run}", "loss": 1.0} for run in (1, 2))
    assert compared(pair, placeholders=RUNS).identical
    assert not compared(pair).identical
