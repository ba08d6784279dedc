"""Findings from a file are believed only where they are whole and can have been measured."""

import copy
import json
import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from reprokit.core import determinism_claims as claims
from reprokit.core.environments.false_claims import false_calls
from reprokit.features.numerics import determinism_claims_page
from reprokit.probes.claims_schema import MAX_BYTES, are_findings, mistake_in, parse
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
        (("schema",), True),
        (("schema",), 1.0),
        (("schema",), 2),
        (("threads",), 10**4000),
        (("threads",), 100_001),
        (("repeats",), 10**9 + 1),
        (("cudnn",), 10**4000),
        (("cudnn",), -1),
        (("rows", 0, "cost", "high"), 1e300),
        (("rows", 0, "default", "ms"), 1e300),
        (("rows", 0, "cost"), None),
        (("rows", 0, "default", "message"), None),
        (("rows", 3, "deterministic"), None),
        (("rows", 3, "warn_only"), None),
        (("batches", "default", 0, "sizes"), None),
        (("batches", "default", 0, "sizes"), [1] * 101),
        (("batches", "default", 0, "sizes"), [10**4000]),
        (("batches", "default"), WHOLE["batches"]["default"] * 2),
    ],
)
def test_what_cannot_have_been_measured_is_told_with_its_place(place, value):
    mistake = mistake_in(changed(place, value))
    assert mistake
    assert not are_findings(changed(place, value))


def test_a_mistake_says_where_it_is():
    assert mistake_in(changed(("rows", 0, "claim"), "lies")).startswith("rows.0.claim: ")
    assert mistake_in(changed(("rows", 1), WHOLE["rows"][0])) == "mm float32 forward is there twice"


def test_null_is_refused_by_name_where_a_key_may_be_left_out():
    mistake = mistake_in(changed(("rows", 3, "deterministic"), None))
    assert mistake == "rows.3: deterministic is null: it is left out or has a value"


def test_more_rows_than_anybody_measures_are_refused():
    rows = [row(f"op{number}") for number in range(20_001)]
    assert mistake_in(findings(*rows)).startswith("rows: ")
    assert mistake_in(findings(*rows[1:])) is None


def test_the_name_of_a_surplus_key_is_told_in_part():
    assert len(mistake_in({**WHOLE, "a" * 10**6: 1})) < 300


def test_findings_of_nothing_are_none():
    assert mistake_in(findings()) == "no operation was measured"


@pytest.mark.parametrize("found", [None, [], "text", {}, {"rows": []}, {"schema": 1}])
def test_what_is_no_record_of_findings_is_none(found):
    assert not are_findings(found)


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "schema"])
def test_nothing_may_be_missing(name):
    found = {key: value for key, value in WHOLE.items() if key != name}
    assert mistake_in(found).startswith(name)


PLACES = [
    ("schema",),
    *((name,) for name in WHOLE if name not in {"schema", "rows", "batches"}),
    *(("rows", at, name) for at in range(4) for name in ("claim", "default", *claims.MODES[1:], "cost")),
    *(("rows", at, "default", name) for at in range(4) for name in ("outcome", "message", "ms", "differing")),
    *(("rows", 2, "default", name) for name in ("digest", "compared", "warned", "earlier")),
    *(("rows", 0, "cost", name) for name in ("ratio", "low", "high")),
    ("batches", "default"),
    *(("batches", "default", 0, name) for name in ("sizes", "others", "outcome", "message")),
]
VALUES = (
    None,
    [],
    {},
    0,
    1,
    -1,
    10**30,
    1e308,
    math.inf,
    True,
    "",
    "same",
    "unavailable",
    "raises",
    "differs",
)


def accepted() -> Iterator[dict[str, Any]]:
    """Findings with one value changed in which no mistake is found."""
    for place, value in product(PLACES, VALUES):
        found = changed(place, value)
        if mistake_in(found) is None:
            yield found


def test_what_is_without_mistake_can_be_judged_and_drawn():
    tried = 0
    for found in accepted():
        claims.is_any_measured(found["rows"])
        false_calls("old(x)", found["rows"])
        assert list(determinism_claims_page.page_lines(found))
        assert len(determinism_claims_page.page([WHOLE, found])) < 20_000
        tried += 1
    assert tried > 50


@pytest.mark.parametrize("repeats", [2, 30, 100])
def test_what_is_without_mistake_stays_so_together_with_what_was_found_earlier(repeats):
    low = 4 if repeats > 4 else 1
    other = changed(("rows", 2, "default", "compared"), low)
    other = {**other, "repeats": repeats, "rows": [*other["rows"][:1], *other["rows"][2:]]}
    other["rows"][1]["default"]["differing"] = 1
    assert mistake_in(other) is None
    for found in accepted():
        assert mistake_in(claims.keep_differences(found, other)) is None
        assert mistake_in(claims.keep_differences(other, found)) is None


def test_a_file_is_read_whole():
    assert parse(json.dumps(WHOLE).encode()) == WHOLE


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b" " * (MAX_BYTES + 1), "larger than 16 MiB"),
        (b'{"schema": 9, "schema": 1}', "the key 'schema' is repeated"),
        (b'{"rows": [{"claim": "a", "claim": "b"}]}', "the key 'claim' is repeated"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"threads": ' + b"9" * 5000 + b"}", "4300 digits"),
        (b"\xff", "utf-8"),
        ("{}".encode("utf-16"), "utf-8"),
        (b"", "Expecting value"),
    ],
)
def test_a_file_that_can_be_read_in_two_ways_or_in_none_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        parse(data)
