"""What holds for every comparison, whatever the records."""

import json
import math
import struct

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reprokit.adapters import from_jsonl
from reprokit.adapters.jsonl.jsonl_walk import Pace
from reprokit.core.comparison import Tolerance, Tolerances, compare_records, exit_code, to_json

floats = st.floats(allow_nan=True, allow_infinity=True)
numbers = st.one_of(floats, st.integers(-(2**70), 2**70))
names = st.text(min_size=1, max_size=6)
tolerances = st.floats(0, 10) | st.floats(0, 1e300)

PATIENT = settings(max_examples=300)


@st.composite
def series(draw, values=numbers):
    keys = draw(st.lists(names.filter(lambda name: name != "step"), min_size=1, max_size=4, unique=True))
    return [{"step": step, **{key: draw(values) for key in keys}} for step in range(draw(st.integers(1, 6)))]


def loose(rtol, atol):
    return Tolerances(default=Tolerance(rtol=rtol, atol=atol))


@PATIENT
@given(series())
def test_everything_is_equal_to_itself(records):
    comparison = compare_records(records, records)
    assert exit_code(comparison) == 0
    assert comparison.identical
    assert comparison.records_compared == len(records)


@PATIENT
@given(series(), series(), tolerances, tolerances, tolerances, tolerances)
def test_a_wider_tolerance_never_adds_a_mismatch(left, right, rtol, atol, more_rtol, more_atol):
    right = [
        dict(zip(one, other.values(), strict=False)) | {"step": one["step"]}
        for one, other in zip(left, right, strict=False)
    ]
    left = left[: len(right)]
    narrow = compare_records(left, right, tolerances=loose(rtol, atol))
    wide = compare_records(left, right, tolerances=loose(max(rtol, more_rtol), max(atol, more_atol)))
    for name, one in wide.per_metric.items():
        assert one.mismatches <= narrow.per_metric[name].mismatches
    assert wide.within_tolerance or not narrow.within_tolerance
    assert wide.identical == narrow.identical or not narrow.within_tolerance


@PATIENT
@given(series(floats), st.data())
def test_one_flipped_bit_is_always_found(tmp_path_factory, records, data):
    at = data.draw(st.integers(0, len(records) - 1))
    name = data.draw(st.sampled_from([name for name in records[at] if name != "step"]))
    (bits,) = struct.unpack("<Q", struct.pack("<d", records[at][name]))
    (flipped,) = struct.unpack("<d", struct.pack("<Q", bits ^ 1 << data.draw(st.integers(0, 63))))
    assume(not (math.isnan(flipped) and math.isnan(records[at][name])))
    changed = [dict(record) for record in records]
    changed[at][name] = flipped
    folder = tmp_path_factory.mktemp("flip")
    for file, side in (("a", records), ("b", changed)):
        (folder / file).write_text("".join(json.dumps(record) + "\n" for record in side))
    for pace in (None, Pace(parse_all_bytes=0, edge_bytes=1, block_bytes=64, segment_bytes=16)):
        comparison = from_jsonl.compare(folder / "a", folder / "b", pace=pace)
        assert exit_code(comparison) == 1
        assert (comparison.divergence.record, comparison.divergence.metric) == (at, name)


@PATIENT
@given(series(), series())
def test_the_answer_does_not_depend_on_which_side_is_called_expected_but_for_words(left, right):
    there, back = compare_records(left, right), compare_records(right, left)
    assert exit_code(there) == exit_code(back)
    assert there.identical == back.identical
    assert (there.divergence is None) == (back.divergence is None)
    assert there.divergence is None or there.divergence.record == back.divergence.record


@PATIENT
@given(series(), series())
def test_the_answer_is_strict_json(left, right):
    text = json.dumps(to_json(compare_records(left, right)), allow_nan=False)
    assert json.loads(text)["records_compared"] == min(len(left), len(right))
