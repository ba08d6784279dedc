"""Whatever a recipe's bytes are, they are read exactly or refused as a RecipeError."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reprokit.errors import RecipeError
from reprokit.recipes.document import read_text
from reprokit.recipes.source_file import UNWANTED, decoded

# What a YAML parser trips over, in any order.
TOKENS = (
    "a|b: |:|- |? |&x |*x|!|!!str |'|\"|\n|\n  | |[|]|{|}|,|>-|---|...|<<: |1e-3|0x1F|.inf|1e400|NO|"
    "#|@|\t|\r|é|😀|~|=|%YAML 1.1\n|%YAML 1.9\n|%TAG ! x\n|\\x41|\\U7FFFFFFF|\\ud800"
)
PIECES = st.lists(st.sampled_from([*TOKENS.split("|"), "|"]), max_size=30).map("".join)

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20).filter(
    lambda text: not UNWANTED.search(text) and "\r" not in text
)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def place_of_refusal(content: bytes) -> str:
    """Where a refusal points to; the file itself when there is none."""
    try:
        read_text(decoded(content, where="r.yaml"), where="r.yaml")
    except RecipeError as error:
        return str(error.where)
    return "r.yaml"


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_their_place(content):
    assert re.fullmatch(r"r\.yaml(:[1-9][0-9]*)?", place_of_refusal(content))


@given(PIECES)
@example('a: "\\U7FFFFFFF"')
@example("%YAML 1.9\n---\n")
def test_any_pieces_of_yaml_are_read_or_refused_with_their_place(text):
    place = place_of_refusal(text.encode())
    assert re.fullmatch(r"r\.yaml(:[1-9][0-9]*)?", place)
    assert int((place.partition(":")[2]) or 1) <= len(re.split("\r\n|\r|\n", text))


@given(VALUES)
def test_json_reads_back_as_the_same_values_of_the_same_types(value):
    text = json.dumps(value, ensure_ascii=False)
    assert repr(read_text(text, where="r").data) == repr(value)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["{!r}", "{:.17g}", "{:.17e}", "{:.20E}"]),
)
def test_every_spelling_of_a_float_reads_back_bit_for_bit(value, spelling):
    read = read_text(spelling.format(value), where="r").data
    assert repr(float(read)) == repr(value) or (value == 0 and isinstance(read, int))


@given(st.lists(st.sampled_from("abcdef"), min_size=2, max_size=8))
def test_a_key_is_refused_exactly_when_it_is_there_twice(keys):
    text = "".join(f"{key}: {index}\n" for index, key in enumerate(keys))
    if len(set(keys)) == len(keys):
        assert read_text(text, where="r").data == {key: index for index, key in enumerate(keys)}
        return
    with pytest.raises(RecipeError) as caught:
        read_text(text, where="r")
    second = next(i for i, key in enumerate(keys) if key in keys[:i])
    assert f"r:{second + 1}: the key {keys[second]!r} is there twice" in str(caught.value)


@given(st.integers(0, 5), VALUES)
def test_comments_and_blank_lines_shift_lines_and_nothing_else(count, value):
    text = f"key: {json.dumps(value, ensure_ascii=False)}\n"
    shifted = read_text("# comment\n\n" * count + text, where="r")
    plain = read_text(text, where="r")
    assert shifted.data == plain.data
    assert {path: line - 2 * count for path, line in shifted.lines.items() if path} == {
        path: line for path, line in plain.lines.items() if path
    }


@pytest.mark.parametrize("text", ["a: [b:]", "a: [3, 0x1F:]", "a: {b: [c:, d]}"])
def test_a_colon_that_two_readers_of_yaml_read_in_two_ways_is_refused(text):
    with pytest.raises(RecipeError, match="ends in a colon"):
        read_text(text, where="r")
