"""Strict YAML: what is read as what, and what is refused with which line."""

from __future__ import annotations

import pytest
from ruamel.yaml import YAML

from reprokit.errors import RecipeError
from reprokit.recipes.document import read_text


def data(text: str) -> object:
    return read_text(text, where="r.yaml").data


def refusal(text: str) -> str:
    with pytest.raises(RecipeError) as caught:
        read_text(text, where="r.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("3E4", 30000.0),
        (".5", 0.5),
        ("-0.0", -0.0),
        ("1.", 1.0),
        ("-7", -7),
        ("010", 10),
        ("0o14", 12),
        ("0x1F", 31),
        ("9223372036854775807", 2**63 - 1),
        ("NO", "NO"),
        ("on", "on"),
        ("1_000", "1_000"),
        ("0b1", "0b1"),
        ("12:30:45", "12:30:45"),
        ("2026-11-20", "2026-11-20"),
        ("=", "="),
        ("'1e-3'", "1e-3"),
        ('"true"', "true"),
        ("True", True),
        ("false", False),
        ("~", None),
        ("", None),
        ("1e-3x", "1e-3x"),
        ("[1, [2], {a: b}]", [1, [2], {"a": "b"}]),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text, value):
    found = data(f"key: {text}\n")["key"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "1_000",
        "0b11",
        "2001-01-01",
        "<<: {a: 1}",
        "1e400",
        ".inf",
        "!!int '3'",
        "{1: 2}",
        "%YAML 1.1\n---\nNO",
    ],
)
def test_the_constructor_of_ruamel_would_read_another_value(text):
    """Why values are made here: each of these is other text or refused. Should this fail, use ruamel's."""
    theirs = YAML(typ="safe", pure=True).load(text)

    try:
        assert repr(data(text)) != repr(theirs)
    except RecipeError:
        return


def test_the_constructor_of_ruamel_would_follow_an_alias_into_itself():
    (inner,) = YAML(typ="safe", pure=True).load("&a [*a]")

    assert inner[0] is inner
    assert "*a has no anchor before it" in refusal("&a [*a]")


def test_minus_zero_keeps_its_sign():
    assert str(data("-0.0")) == "-0.0"


def test_an_empty_document_is_null():
    assert data("") is None
    assert data("# only a comment\n") is None


def test_every_key_and_item_knows_its_line():
    lines = read_text(
        "a: 1\n# comment\nb:\n  c: |\n    x\n    y\n  d:\n    - 1\n    - 2\n", where="r.yaml"
    ).lines
    assert {path: line for path, line in lines.items() if path} == {
        ("a",): 1,
        ("b",): 3,
        ("b", "c"): 4,
        ("b", "d"): 7,
        ("b", "d", 0): 8,
        ("b", "d", 1): 9,
    }


def test_duplicate_keys_name_both_lines():
    assert refusal("a: 1\nb: 2\na: 3\n") == "r.yaml:3: the key 'a' is there twice, first in line 1"


def test_duplicate_keys_in_a_flow_mapping_are_refused():
    assert "the key 'a' is there twice, first in line 2" in refusal("x:\n  {a: 1,\n a: 2}")


def test_keys_that_differ_in_quotes_only_are_duplicates():
    assert "twice" in refusal("a: 1\n'a': 2\n")


def test_several_mistakes_are_told_together_in_the_order_of_the_file():
    told = refusal("a: 1\na: 2\nb: !!int 3\n4: c\nd: .nan\n")
    assert told.splitlines() == [
        "r.yaml: 4 mistakes",
        "  r.yaml:2: the key 'a' is there twice, first in line 1",
        "  r.yaml:3: the tag 'tag:yaml.org,2002:int'. Hint: recipes have no tags: remove it",
        '  r.yaml:4: a key must be text, not 4. Hint: write "4"',
        "  r.yaml:5: .nan is not a finite number",
    ]


def test_a_thousand_mistakes_are_cut_to_a_readable_list():
    told = refusal("\n".join(f"k{i}: .nan" for i in range(1000)))
    assert told.splitlines()[0] == "r.yaml: 1000 mistakes"
    assert told.splitlines()[-1] == "  and 980 more"
    assert len(told.splitlines()) == 22


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system", "!!str", "!own", "!<tag:x,2026:y>", "!"])
def test_tags_are_refused(tag):
    assert refusal(f"a: 1\nb: {tag} x\n").startswith("r.yaml:2: the tag ")


@pytest.mark.parametrize("word", [".inf", "-.INF", ".NaN", "1e400", "-1e999", "1e-400"])
def test_numbers_that_are_not_finite_floats_are_refused(word):
    assert refusal(f"a:\n  b: {word}\n").startswith("r.yaml:2: ")


@pytest.mark.parametrize(
    "digits", ["9223372036854775808", "-9223372036854775809", "0xFFFFFFFFFFFFFFFFF", "9" * 5000]
)
def test_integers_beyond_64_bits_are_refused(digits):
    assert refusal(f"a: {digits}") == "r.yaml:1: the integer does not fit into 64 bits"


def test_zero_is_no_underflow():
    assert data("[0.0, 0e5, -0.00e-3]") == [0.0, 0.0, -0.0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [1", "r.yaml:1: not YAML"),
        ("a: b: c", "r.yaml:1: not YAML"),
        ("a: 1\n\tb: 2", "r.yaml:2: not YAML"),
        ("a: 'x", "r.yaml:1: not YAML"),
        ("a: *x", "r.yaml:1: *x has no anchor before it"),
        ("a: &x [*x]", "r.yaml:1: *x has no anchor before it"),
        ("a: 1\n---\nb: 2", "r.yaml:2: a second document begins here"),
        ("%YAML 1.1\n---\na: NO", "r.yaml:2: recipes are YAML 1.2"),
        ("%YAML 1.9\n---\na: NO", "r.yaml: not YAML"),
        ("a:\n  <<: {b: 1}", "r.yaml:2: YAML 1.2 has no merge key"),
        ("? [1]\n: 2", "r.yaml:1: a key must be plain text"),
        ("a: &x y\n*x : 2", "r.yaml:2: a key must be plain text"),
        ("null: 2", "r.yaml:1: a key must be text, not null"),
        (": 2", "r.yaml:1: a key must be text, not nothing"),
        ('a: "\\U7FFFFFFF"', "r.yaml: not YAML"),
        ('a: "\\ud800"', "r.yaml:1: the character U+D800 in a text"),
        ('a: "\\e[31m"', "r.yaml:1: the character U+001B in a text"),
        ("a: 1\nb: \x00", "r.yaml:2: a NUL character in the text"),
        ("a: 1\nb: \u202e", "r.yaml:2: the character U+202E in the text"),
    ],
)
def test_what_no_recipe_may_hold_is_refused_with_its_line(text, told):
    assert refusal(text).startswith(told)


def test_anchors_and_aliases_of_a_sane_size_work():
    assert data("a: &t {rtol: 1e-6}\nb: *t\n") == {"a": {"rtol": 1e-6}, "b": {"rtol": 1e-6}}


def test_an_aliased_value_is_a_copy_of_its_own():
    read = data("a: &t [1]\nb: *t\n")
    assert read["a"] is not read["b"]


def test_a_tiny_alias_bomb_is_refused_before_it_expands():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10))
    assert len(bomb) < 600
    assert refusal(bomb) == "r.yaml:5: more than 10000 values, aliases spelled out"


def test_a_bomb_of_long_texts_is_refused():
    bomb = f"a: &a {'x' * 10_000}\nb: [{', '.join(['*a'] * 200)}]\n"
    assert "more than 1000000 characters, aliases spelled out" in refusal(bomb)


def test_a_chain_of_aliases_cannot_nest_deeper_than_text_may():
    chain = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 60))
    assert "levels deep" in refusal(chain)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_nesting_of_ten_thousand_levels_is_refused(opening):
    assert "nested more than 24 levels deep" in refusal(opening * 10_000)


def test_ten_thousand_values_are_too_many():
    assert "more than 10000 values" in refusal("[" + "1," * 10_001 + "]")


def test_text_of_an_option_is_told_without_a_line():
    with pytest.raises(RecipeError) as caught:
        read_text("[1", where="--set a", numbered=False)
    assert caught.value.where == "--set a"


def test_one_mistake_in_two_files_is_told_of_each():
    for where in ("one.yaml", "other.yaml"):
        with pytest.raises(RecipeError, match=f"^{where}:1: "):
            read_text("a: *nowhere", where=where)
