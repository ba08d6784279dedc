"""One line of JSON Lines. What whole files make of odd lines is in the battery of cases."""

import json
import math

import pytest

from reprokit.adapters.jsonl import quick_json
from reprokit.adapters.jsonl.jsonl_line import MAX_DEPTH, MAX_INTEGER_DIGITS, read_line


@pytest.fixture(params=["quick", "thorough"], autouse=True)
def _both_parsers(request, monkeypatch):
    """Each test once with orjson, and once as where Python is too new for it."""
    if request.param == "quick":
        pytest.importorskip("orjson")
    else:
        monkeypatch.setattr(quick_json, "_loads", None)


def word(line, **options):
    reading = read_line(line, number=3, **options)
    return reading.notes[0][0] if reading.record is None else None


def loss(text):
    return read_line(b'{"loss": %b}' % text.encode(), number=1).record["loss"]


@pytest.mark.parametrize(
    "text", ["0.1", "-0.0", "1e-400", "123456789012345678901234567890", "1E5", "-12", "0"]
)
def test_numbers_are_what_python_reads(text):
    assert repr(loss(text)) == repr(json.loads(text))


def test_minus_zero_without_a_point_is_the_integer_zero():
    assert repr(loss("-0")) == "0"


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_read_as_python_writes_them(text):
    assert repr(loss(text)) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["nan", "inf", "-NaN", "+1", ".5", "0x10", "1_000", "١"])
def test_other_spellings_of_numbers_are_not_json(text):
    assert word(b'{"loss": %b}' % text.encode()) == "invalid_json"


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64 - 1, 2**64, 10**30, -(2**63) - 1])
@pytest.mark.parametrize("shape", ["%d", "[%d]", '{"a": %d}'])
def test_integers_keep_every_digit(number, shape):
    text = shape % number
    assert loss(text) == json.loads(text)


def test_an_integer_of_many_digits_is_read_and_one_of_too_many_is_named():
    assert loss("9" * 5000) == 10**5000 - 1
    assert loss("-" + "9" * 5000) == 1 - 10**5000
    assert word(b'{"a": %b}' % (b"9" * (MAX_INTEGER_DIGITS + 1))) == "integer_too_long"


def test_a_lone_surrogate_is_a_code_point_like_any_other():
    assert loss('"\\ud800"') == "\ud800"


def test_a_colon_in_a_name_or_text_is_no_second_key():
    assert read_line(b'{"a:b": "c:d"}', number=1).record == {"a:b": "c:d"}


def test_nesting_is_bounded_by_a_number_and_not_by_pythons_stack():
    for depth, expected in ((MAX_DEPTH - 1, None), (MAX_DEPTH, "too_deep"), (100_000, "too_deep")):
        assert word(b'{"a": ' + b"[" * depth + b"]" * depth + b"}") == expected


def test_brackets_in_texts_are_not_nesting():
    assert loss('"%s"' % ("[{" * 1000)) == "[{" * 1000
    assert loss('"%s"' % ('\\"[' * 1000)) == '"[' * 1000


def test_a_text_that_never_ends_takes_no_long_time():
    assert word(b'{"a": "' + b'\\"[' * 300_000, terminated=False) == "torn_line"


def test_a_line_of_a_megabyte_is_read_and_noted():
    reading = read_line(b'{"loss": [%b]}' % b",".join([b"0.5"] * 300_000), number=1)
    assert len(reading.record["loss"]) == 300_000
    assert reading.notes == (("long_line", ""),)


def test_a_last_line_without_line_feed_is_whole_or_torn():
    assert read_line(b'{"loss": 1}', number=1, terminated=False).notes == (("no_final_newline", ""),)
    for end in range(1, len(b'{"loss": 1')):
        assert word(b'{"loss": 1}'[:end], terminated=False) == "torn_line"


def test_the_place_in_the_line_is_said():
    assert read_line(b'{"loss": x}', number=1).notes == (("invalid_json", "at character 10"),)
    assert math.isnan(loss("NaN"))
