"""The comparator agrees with an independent slow one on generated pairs of files.

1,000 pairs in CI; 10,000 in the tests that are marked slow.
"""

import copy
import json
import math
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reprokit.adapters import from_jsonl
from reprokit.adapters.jsonl.jsonl_walk import Pace
from reprokit.core.comparison import Tolerance, Tolerances
from support.comparison_cases import outcome_of
from support.reference_comparison import Reference

PATIENT = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
SKIPPING = Pace(parse_all_bytes=0, edge_bytes=1, block_bytes=64, segment_bytes=16)

NAMES = ("loss", "kl", "ré", "ré", "a:b", "a.b", "{", "", "x" * 70, "nan", "Loss")

numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-10, 10),
    st.sampled_from([0.0, -0.0, 1.0, 0.1, 5e-324, 1.7e308, -1.7e308, 2.0**53, math.nan, math.inf, -math.inf]),
    st.integers(-3, 3),
    st.sampled_from([2**53, 2**53 + 1, 2**63, 2**64, 2**64 + 1, -(2**63) - 1, 10**30, 10**400]),
)
scalars = st.one_of(numbers, numbers, st.booleans(), st.none(), st.text(max_size=4), st.just('":{}[],'))
values = st.one_of(
    scalars,
    scalars,
    st.lists(scalars, max_size=3),
    st.dictionaries(
        st.sampled_from(["a", "b", "step"]), st.one_of(scalars, st.lists(scalars, max_size=2)), max_size=2
    ),
)


@st.composite
def series(draw):
    """Records as a training program might write them, mostly, with plain numbers, mostly."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    kind = draw(st.sampled_from([numbers, st.floats(-5, 5), values]))
    count = draw(st.integers(1, 12))
    steps = draw(st.sampled_from(["even", "even", "any", "none"]))
    records = []
    for at in range(count):
        record = {} if steps == "none" else {"step": at * 256 if steps == "even" else draw(st.integers(0, 3))}
        record.update({name: draw(kind) for name in names})
        records.append(record)
    return records


def _nudged(value, rng):
    if isinstance(value, bool) or not isinstance(value, int | float):
        return rng.choice([0, 1, None, "", [], {}, True])
    nudges = [
        lambda: value + 1,
        lambda: -value,
        lambda: float(value),
        lambda: value * (1 + 1e-7),
        lambda: math.nextafter(value, math.inf),
        lambda: rng.choice([math.nan, math.inf, None, str(value), value != 0]),
    ]
    try:
        return rng.choice(nudges)()
    except OverflowError:
        return -value


def mutated(records, rng):
    """The same records with some of what goes wrong in practice."""
    records = copy.deepcopy(records)
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        if records:
            rng.choice([_other_value] * 6 + [_other_values, _other_records, _other_names])(records, rng)
    return records


def _other_value(records, rng):
    record = rng.choice(records)
    if record:
        name = rng.choice(list(record))
        record[name] = _nudged(record[name], rng)


def _other_values(records, rng):
    for record in records:
        record.update({name: _nudged(value, rng) for name, value in record.items() if name != "step"})


def _other_records(records, rng):
    at, other = rng.randrange(len(records)), rng.randrange(len(records))
    change = rng.choice(["drop", "double", "swap"])
    if change == "drop":
        del records[at]
    elif change == "double":
        records.insert(at, copy.deepcopy(records[at]))
    else:
        records[at], records[other] = records[other], records[at]


def _other_names(records, rng):
    at = rng.randrange(len(records))
    record = records[at]
    name = rng.choice(list(record) or ["loss"])
    change = rng.choice(["rename", "lose", "gain"])
    if change == "rename":
        records[at] = {rng.choice(NAMES) if key == name else key: one for key, one in record.items()}
    elif change == "lose":
        record.pop(name, None)
    else:
        record[rng.choice(NAMES)] = rng.choice([1.0, None, "x", math.nan])


def written(records, rng):
    """The records as bytes, in a manner of some writer."""
    shuffle = rng.random() < 0.2
    separators = rng.choice([None, (",", ":"), (" , ", " : ")])
    texts = []
    for record in records:
        items = list(record.items())
        if shuffle:
            rng.shuffle(items)
        texts.append(json.dumps(dict(items), separators=separators, ensure_ascii=rng.random() < 0.5))
    end = "\r\n" if rng.random() < 0.05 else "\n"
    return "".join(text + end for text in texts).encode()


def damaged(data, rng):
    """The bytes after an accident, in one case of ten."""
    if rng.random() > 0.1 or not data:
        return data
    at = rng.randrange(len(data))
    accidents = [
        lambda: data[:at],
        lambda: data[at:],
        lambda: data[:at] + b"\n" + data[at:],
        lambda: data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
        lambda: data.replace(b"}\n", b', "twice": 1, "twice": 1}\n', 1),
        lambda: data.replace(b"}\n", b', "big": 1e400}\n', 1),
        lambda: data.replace(b"}\n", b"}", 1),
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data + b"\n",
        lambda: b"",
    ]
    return rng.choice(accidents)()


options = st.sampled_from(
    [
        {},
        {},
        {},
        {"rtol": 1e-6},
        {"atol": 0.5},
        {"rtol": 0.1, "atol": 1e-300},
        {"rtol": 1.5},
        {"metrics": ["loss"]},
        {"metrics": ["loss", "kl"]},
        {"ignore": ["l*", "a?b"]},
        {"ignore": ["kl"], "metrics": ["kl", "loss"]},
    ]
)


def _compare(expected, actual, chosen, pace=None):
    tolerance = Tolerance(rtol=chosen.get("rtol", 0.0), atol=chosen.get("atol", 0.0))
    rest = {name: value for name, value in chosen.items() if name not in {"rtol", "atol"}}
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "expected.jsonl"), Path(folder, "actual.jsonl")
        for path, data in zip(paths, (expected, actual), strict=True):
            path.write_bytes(data)
        return from_jsonl.compare(*paths, tolerances=Tolerances(default=tolerance), **rest, pace=pace)


@st.composite
def pairs(draw):
    records = draw(series())
    rng = random.Random(draw(st.integers(0, 2**32)))
    changed = mutated(records, rng)
    left, right = written(records, rng), written(changed, rng)
    if rng.random() < 0.3:
        right = left
    if rng.random() < 0.02:
        left = damaged(left, rng)
    return left, damaged(right, rng), draw(options)


def _agree(found, reference, words):
    assert {word: found[word] for word in words} == {word: reference[word] for word in words}


ALWAYS = ("exit_code", "identical")
READABLE = ("records", "divergence", "mismatches", "first_steps", "max_abs", "metrics")


def check(pair):
    """Every word of the answer is the reference's."""
    expected, actual, chosen = pair
    reference = Reference()(expected, actual, **chosen)
    found = outcome_of(_compare(expected, actual, chosen))
    _agree(found, reference, ALWAYS if reference["exit_code"] == 2 else (*ALWAYS, *READABLE))


def check_skipping(pair):
    """The same where equal bytes are skipped, for files that can be compared.

    An odd line that both files have alike may go unread there.
    """
    expected, actual, chosen = pair
    reference = Reference()(expected, actual, **chosen)
    found = outcome_of(_compare(expected, actual, chosen, pace=SKIPPING))
    if reference["exit_code"] != 2:
        _agree(found, reference, (*ALWAYS, "records", "divergence", "mismatches", "first_steps"))


@settings(PATIENT, max_examples=1_000)
@given(pairs())
def test_it_agrees_with_the_reference(pair):
    check(pair)


@settings(PATIENT, max_examples=1_000)
@given(pairs())
def test_it_agrees_while_skipping_what_is_equal(pair):
    check_skipping(pair)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(PATIENT, max_examples=10_000)
@given(pairs())
def test_it_agrees_with_the_reference_on_10_000_pairs(pair):
    check(pair)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(PATIENT, max_examples=10_000)
@given(pairs())
def test_it_agrees_while_skipping_what_is_equal_on_10_000_pairs(pair):
    check_skipping(pair)
