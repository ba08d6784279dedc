"""Two probes compared with each other, and what of it a sentence and an environment difference say."""

import pytest

from reprokit.capture import environment_diff
from reprokit.core import fingerprint, rounding


def record(digests=None, *, version=1, device="cpu"):
    numerics = {"profile": "portable", "version": 1}
    if digests is not None:
        numerics["probe"] = {"version": version, "device": device, "digests": digests, "missing": {}}
    return {"inside": {"numerics": numerics, "device": {"kind": "cpu"}}}


SQRT = {"torch.exp": "a", "torch.sqrt": "b"}


def test_the_operation_whose_digest_differs_is_named():
    found = rounding.compare_records(record(SQRT), record({**SQRT, "torch.sqrt": "c"}))

    assert (found.differing, found.compared, found.because) == (("torch.sqrt",), 2, "")


def test_operations_that_one_probe_lacks_say_nothing_and_are_told():
    found = rounding.compare_records(record(SQRT), record({"torch.exp": "a", "torch.erf": "d"}))

    assert (found.differing, found.compared, found.only_one) == ((), 1, ("torch.erf", "torch.sqrt"))


@pytest.mark.parametrize(
    "other",
    [
        record(),
        {},
        record({}),
        record(SQRT, version=2),
        record(SQRT, device="cuda"),
        record({"torch.x": "a"}),
        {"inside": {"numerics": {"probe": "torn"}}},
        {"inside": {"numerics": {"probe": {"digests": [1]}}}},
    ],
)
def test_where_nothing_can_be_compared_nothing_differs_and_the_reason_is_told(other):
    for pair in ((record(SQRT), other), (other, record(SQRT))):
        found = rounding.compare_records(*pair)
        assert found.differing == ()
        assert found.because


def test_the_sentence_names_three_and_counts_the_rest():
    assert rounding.sentence(()) == ""
    assert rounding.sentence(("exp",)) == "here `exp` rounds differently"
    assert rounding.sentence(tuple("abcde")) == "here `a`, `b`, `c` and 2 more round differently"


def test_a_cpu_that_rounds_otherwise_is_no_other_fingerprint():
    other = record({**SQRT, "torch.sqrt": "c"})

    assert fingerprint.same(record(SQRT), other)
    assert fingerprint.same(record(SQRT), record())
    (row,) = environment_diff.diff(record(SQRT), other)
    assert row["field"] == "inside.numerics.probe.digests.torch.sqrt"
    assert row["can_change_numbers"] == "no"


def test_a_record_from_before_there_were_probes_differs_in_no_digest():
    fields = {row["field"] for row in environment_diff.diff(record(), record(SQRT))}

    assert not any("digests" in field for field in fields)
