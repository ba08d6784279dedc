"""The row of the data: a preparation that ran once, or that no one recorded, is not shown to repeat."""

from __future__ import annotations

import pytest

from reprokit.checks import data_recorded
from reprokit.core.verdicts.rows import Status
from support import planted

UNSHOWN = {
    "once": {"halve": {**planted.STEP, "preparations": 1}},
    "no record of this code": {"halve": {"key": "0", "preparations": 0}},
    "another step": {"other": planted.STEP},
    "no record at all": ...,
    "a count that is true": {"halve": {**planted.STEP, "preparations": True}},
}


@pytest.mark.parametrize("record", UNSHOWN)
def test_what_is_not_shown_to_repeat_is_not_judged(record):
    found = data_recorded.check(planted.with_step(UNSHOWN[record])(planted.clean()))
    assert (found.status, found.applies) == (Status.ERROR, True)
    assert "reprokit data prepare" in found.remedy


def test_two_equal_preparations_and_splits_without_a_shared_row_pass():
    apart = [{**planted.SHARED[0], "num_duplicates": 0, "first": []}]
    fault = planted.with_step({"halve": planted.STEP}, disjoint=planted.APART, shared=apart)
    found = data_recorded.check(fault(planted.clean()))
    assert found.status is Status.PASSED
    assert "prepared twice, equal byte for byte: halve; no row is in two splits" in found.reason
    assert found.evidence["preparation"] == {"halve": planted.STEP}
