"""How the runs of each experiment ended, next to the first run."""

from __future__ import annotations

from types import SimpleNamespace

from reprokit.errors import MetricsError
from reprokit.harness.diagnosing.answers import tried


class _Lab:
    """Runs that were made, each with the number that it ended with; "torn" for one that cannot be read."""

    def __init__(self, *made, cut_off=()):
        self.labels = [*(label for label, _ in made), *cut_off]
        self.ended = [
            (label, SimpleNamespace(value=value, trouble="exit code 1" if value is None else ""))
            for label, value in made
        ]

    def compare(self, first, second):
        if second.value == "torn":
            raise MetricsError("half a line")
        return SimpleNamespace(within_tolerance=first.value == second.value)


def told(lab):
    return [(one.what, one.runs, one.outcome) for one in tried(lab)]


def test_runs_are_counted_by_how_they_ended_and_the_first_is_what_they_are_compared_with():
    lab = _Lab(("first", 1), ("second", 2), ("again", 1), ("again", 3), ("held", 1))
    assert told(lab) == [
        ("the program under equal conditions", 4, "2 different, 1 equal to the first run"),
        ("values of some lines held as recorded, all other lines left free", 1, "1 equal to the first run"),
    ]


def test_what_did_not_finish_or_cannot_be_compared_is_neither_equal_nor_different():
    lab = _Lab(("first", 1), ("simple", None), ("simple", "torn"), cut_off=("another-seed",))
    assert told(lab) == [
        ("the program under equal conditions", 1, ""),
        ("the values of one line or generator alone replayed", 2, "1 not comparable, 1 not finished"),
        ("what a run with another seed leaves", 1, ""),
    ]


def test_without_a_run_nothing_was_tried():
    assert told(_Lab()) == []
