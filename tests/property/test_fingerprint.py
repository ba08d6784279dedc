"""Laws of the numerics fingerprint, on generated records."""

import json

from hypothesis import given
from hypothesis import strategies as st

from reprokit.capture import environment_diff
from reprokit.core import fingerprint
from reprokit.core.environments.fingerprint_rules import RULES

_FIELDS = sorted({rule.field.replace("*", "x") for rule in RULES} | {"inside.new.x", "host.new", "new"})
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.text(max_size=3), max_size=3),
)


def _nested(flat):
    record = {}
    for path, value in flat.items():
        *parents, last = path.split(".")
        section = record
        for name in parents:
            section = section.setdefault(name, {})
            if not isinstance(section, dict):
                break
        else:
            section[last] = value
    return record


records = st.dictionaries(st.sampled_from(_FIELDS), _LEAVES, max_size=12).map(_nested)


@given(records)
def test_a_record_does_not_differ_from_itself(record):
    assert environment_diff.diff(record, record) == []
    assert fingerprint.same(record, record)


@given(records, records)
def test_something_that_can_change_numbers_differs_exactly_when_the_fingerprints_do(left, right):
    can = [entry for entry in environment_diff.diff(left, right) if entry["can_change_numbers"] != "no"]
    assert bool(can) is not fingerprint.same(left, right)


@given(records, records)
def test_the_sides_can_be_swapped(left, right):
    there, back = environment_diff.diff(left, right), environment_diff.diff(right, left)
    assert [(e["field"], e["expected"], e["actual"]) for e in there] == [
        (e["field"], e["actual"], e["expected"]) for e in back
    ]


@given(records)
def test_the_order_of_keys_does_not_matter(record):
    turned = dict(reversed(record.items()))
    assert fingerprint.fingerprint(turned) == fingerprint.fingerprint(record)


@given(records)
def test_a_difference_can_always_be_written_as_json(record):
    json.dumps(environment_diff.diff(record, {}), allow_nan=False)
    assert fingerprint.platform_of(record)
