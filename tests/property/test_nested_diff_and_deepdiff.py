"""Where two records differ: ours and deepdiff's answers are compared."""

from __future__ import annotations

import hypothesis.strategies as st
from deepdiff import DeepDiff
from deepdiff.operator import BaseOperator
from hypothesis import given, settings

from reprokit.nested_diff import differences

PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, -0.0, 1.0, 1e9, 1e9 + 1, float("nan"), float("inf"), 0.1, 0.1 + 2**-56]),
    st.sampled_from(["", "a", "b", "1", "nan"]),
)
NAMES = st.sampled_from(["a", "b", "__private", "c.d"])
VALUES = st.recursive(
    PLAIN,
    lambda one: st.one_of(st.lists(one, max_size=3), st.dictionaries(NAMES, one, max_size=3)),
    max_leaves=6,
)
RECORDS = st.dictionaries(NAMES, VALUES, max_size=3)


class FloatsBySpelling(BaseOperator):
    def __init__(self):
        super().__init__(types=[float])

    def give_up_diffing(self, level, diff_instance):
        if repr(level.t1) != repr(level.t2):
            diff_instance.custom_report_result("values_changed", level)
        return True


def found_by_deepdiff(one, other):
    return DeepDiff(
        one,
        other,
        ignore_private_variables=False,
        zip_ordered_iterables=True,
        threshold_to_diff_deeper=0,
        custom_operators=[FloatsBySpelling()],
    )


@settings(max_examples=300, deadline=None)
@given(RECORDS, RECORDS)
def test_both_find_a_difference_or_neither_does(one, other):
    assert bool(differences(one, other)) == bool(found_by_deepdiff(one, other))


@settings(max_examples=100, deadline=None)
@given(RECORDS)
def test_a_record_equals_itself_for_both(record):
    assert (differences(record, record), dict(found_by_deepdiff(record, record))) == ([], {})
