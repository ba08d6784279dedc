"""Findings from a file are believed only where they are whole and can have been measured."""

import copy
import math

import pytest

from reprokit.probes.claims_schema import are_findings, mistake_in
from support.claim_findings import DIFFERS, SAME, findings, row

WHOLE = findings(
    row(cost={"ratio": 1.5, "low": 1.2, "high": 1.6}),
    row("index_put accumulate=True", warn_only={**DIFFERS, "warned": True}),
    {**row("old"), "default": {**DIFFERS, "compared": 4, "earlier": True}},
    {"operation": "cudnn", "dtype": "bfloat16", "compiled": True, "phase": "backward", "claim": "raises"}
    | {"default": {"outcome": "unavailable", "message": "no kernel"}},
    batches={
        "default": [{"operation": "mm", "dtype": "float32", "sizes": [1, 2], "others": False}],
        "deterministic": [{"operation": "mm", "dtype": "float32", "outcome": "raises", "message": "no"}],
    },
)


def changed(place, value):
    found = copy.deepcopy(WHOLE)
    *above, last = place
    inner = found
    for name in above:
        inner = inner[name]
    inner[last] = value
    return found


def test_what_was_measured_is_without_mistake():
    assert mistake_in(WHOLE) is None
    assert are_findings(WHOLE)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("platform",), "../../.."),
        (("platform",), "cpu-x86_64/../x"),
        (("torch",), "../2.13"),
        (("torch",), 2.13),
        (("device",), "<script>alert(1)</script>"),
        (("device",), "a\nb"),
        (("device",), None),
        (("driver",), "`x`"),
        (("threads",), 0),
        (("repeats",), 0),
        (("repeats",), 1),
        (("repeats",), -5),
        (("repeats",), math.nan),
        (("repeats",), 29.5),
        (("repeats",), True),
        (("rows",), {}),
        (("rows", 0), None),
        (("rows", 0), []),
        (("rows", 0, "operation"), "mm | x"),
        (("rows", 0, "operation"), "mm\n"),
        (("rows", 0, "operation"), "<b>"),
        (("rows", 0, "claim"), "lies"),
        (("rows", 0, "phase"), "sideways"),
        (("rows", 0, "compiled"), 1),
        (("rows", 0, "default"), {}),
        (("rows", 0, "deterministic"), None),
        (("rows", 0, "default"), {"outcome": "same"}),
        (("rows", 0, "default"), {**SAME, "ms": math.inf}),
        (("rows", 0, "default"), {**SAME, "differing": 1}),
        (("rows", 0, "default"), {**DIFFERS, "differing": 0}),
        (("rows", 0, "default"), {**DIFFERS, "differing": 30}),
        (("rows", 2, "default", "differing"), 5),
        (("rows", 0, "default"), {**DIFFERS, "differing": None}),
        (("rows", 0, "cost", "low"), math.nan),
        (("rows", 1), WHOLE["rows"][0]),
        (("batches",), []),
        (("batches", "default", 0, "sizes"), ["<i>"]),
        (("batches", "other"), []),
        (("surplus",), 1),
    ],
)
def test_what_cannot_have_been_measured_is_told_with_its_place(place, value):
    mistake = mistake_in(changed(place, value))
    assert mistake
    assert not are_findings(changed(place, value))


def test_a_mistake_says_where_it_is():
    assert mistake_in(changed(("rows", 0, "claim"), "lies")).startswith("rows.0.claim: ")
    assert mistake_in(changed(("rows", 1), WHOLE["rows"][0])) == "mm float32 forward is there twice"


def test_findings_of_nothing_are_none():
    assert mistake_in(findings()) == "no operation was measured"


@pytest.mark.parametrize("found", [None, [], "text", {}, {"rows": []}, {"schema": 1}])
def test_what_is_no_record_of_findings_is_none(found):
    assert not are_findings(found)


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "schema"])
def test_nothing_may_be_missing(name):
    found = {key: value for key, value in WHOLE.items() if key != name}
    assert mistake_in(found).startswith(name)
