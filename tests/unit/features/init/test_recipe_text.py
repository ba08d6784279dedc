"""What ``init`` writes is read back as what it meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from reprokit.features.init.recipe_text import recipe_text

WORDS = [
    "-1",
    "-1e-3",
    ".5",
    "-.5",
    ".inf",
    "-.INF",
    ".nan",
    "400",
    "1e5",
    "yes",
    "null",
    "~",
    "-",
    "--",
    "-c",
    "--lr=0.1",
]
WORDS += [
    "./train.py",
    "../x",
    "/data",
    "{seed}",
    "a: b",
    "# no",
    "",
    "on",
    "_1",
    "0x10",
    "2026-11-22",
    "e3",
    ".",
    "..",
    "=",
    "<<",
]


def read(values):
    return YAML(typ="safe").load(recipe_text(values))


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_a_command_stays_text(word):
    assert read({"command": ["python", word]}) == {"command": ["python", word]}


@given(st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126)), min_size=1))
def test_any_words_stay_text(words):
    assert read({"command": words}) == {"command": words}
