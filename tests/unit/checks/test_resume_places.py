"""The row ``resume_equal`` of runs that were killed at several places."""

from dataclasses import replace

import pytest

from reprokit.checks import resume_equal
from support import planted

DIFFERS = {"where": "metrics.jsonl", "what": "loss at step 5", "expected": 1.0, "actual": 2.0}


def judged(*changes):
    """The row of a training that was killed at a place for each of the changes."""
    seen = [
        replace(planted.resumed(), place=f"at step {n}", **more) for n, more in enumerate(changes, start=1)
    ]
    return resume_equal.check(replace(planted.clean(), resume=seen[0], resume_places=tuple(seen)))


def test_places_that_are_all_equal_pass():
    found = judged({}, {})
    assert (found.status, found.reason) == (
        "PASSED",
        "killed at 2 places and resumed: all of them as if never stopped",
    )
    assert [one["place"] for one in found.evidence["places"]] == ["at step 1", "at step 2"]


@pytest.mark.parametrize("other", [{}, {"problem": "nothing to resume from"}])
def test_one_that_differs_decides_and_what_it_lost_is_said(other):
    found = judged(other, {"first": DIFFERS, "lost": ("optimizer",)})
    assert found.status == "FAILED"
    assert found.reason.startswith(
        "1 of 2 places differ from the uninterrupted run (at step 2); killed at step 2: "
    )
    assert found.reason.endswith("; lost: optimizer")
    assert found.evidence["places"][1]["lost"] == ["optimizer"]
    assert found.remedy


def test_one_that_cannot_be_judged_is_no_pass():
    found = judged({}, {"problem": "nothing to resume from"})
    assert found.status == "ERROR"
    assert (
        found.reason
        == "1 of 2 places could not be judged (at step 2); killed at step 2: nothing to resume from"
    )
