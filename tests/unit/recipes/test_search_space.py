"""A search space is read strictly: every mistake with its file and line."""

from __future__ import annotations

import pytest

from reprokit.errors import RecipeError
from reprokit.recipes import read_search_space

WHOLE = """\
training.learning_rate: {type: float, low: 1e-5, high: 1e-3, log: true}
training:
  batch_size: {type: int, low: 32, high: 256, step: 32}
model.hidden_sizes: {type: categorical, choices: [[64, 64], [256, 256]]}
"""


def read(tmp_path, text):
    path = tmp_path / "space.yaml"
    path.write_text(text)
    return read_search_space(path)


def test_settings_come_in_the_order_of_the_file_with_values_of_their_type(tmp_path):
    rate, batch, sizes = read(tmp_path, WHOLE)
    assert [one.setting for one in (rate, batch, sizes)] == [
        "training.learning_rate",
        "training.batch_size",
        "model.hidden_sizes",
    ]
    assert (rate.low, rate.high, rate.log, rate.step) == (1e-5, 1e-3, True, None)
    assert (batch.low, batch.step, type(batch.low)) == (32, 32, int)
    assert sizes.choices == ([64, 64], [256, 256])
    assert batch.where.endswith("space.yaml:3")


def test_it_is_written_as_it_was_read(tmp_path):
    assert [one.as_data() for one in read(tmp_path, WHOLE)] == [
        {"type": "float", "low": 1e-5, "high": 1e-3, "log": True},
        {"type": "int", "low": 32, "high": 256, "log": False, "step": 32},
        {"type": "categorical", "choices": [[64, 64], [256, 256]]},
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("a: {type: float, low: 2, high: 1}", "low 2 is above high 1"),
        ("a: {type: float, low: 0, high: 1, log: true}", "logarithmic scale needs a low above 0"),
        ("a: {type: int, low: 0.5, high: 1}", "low is 0.5"),
        ("a: {type: int, low: 1}", "high is nothing"),
        ("a: {type: float, low: true, high: 1}", "low is true"),
        ("a: {type: float, low: 0, high: 1, step: 0}", "step is 0"),
        ("a: {type: float, low: 1, high: 2, log: true, step: 1}", "a logarithmic scale has no step"),
        ("a: {type: float, low: 0, high: 1, choices: [1]}", "has no choices"),
        ("a: {type: categorical, choices: []}", "there are no choices"),
        ("a: {type: categorical, choices: [1, 1]}", "the choice 1 is there twice"),
        ("a: {type: categorical, choices: [1], low: 0}", "has no low"),
        ("a: {type: uniform, low: 0, high: 1}", "unknown type the text 'uniform'"),
        ("a: {low: 0, high: 1}", "there is no type"),
        ("a: {type: float, low: 0, hihg: 1, high: 1}", "unknown key 'hihg'"),
        ("a: 3", "a is 3"),
        ("a.b: {type: int, low: 0, high: 1}\na: {b: {type: int, low: 0, high: 1}}", "is there twice"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path, line, told):
    with pytest.raises(RecipeError) as caught:
        read(tmp_path, f"# a comment\n{line}\n")
    text = str(caught.value)
    assert told in text
    assert "space.yaml:2" in text or "space.yaml:3" in text


def test_all_mistakes_are_told_together(tmp_path):
    with pytest.raises(RecipeError) as caught:
        read(tmp_path, "a: {type: float, low: 2, high: 1}\nb: {type: categorical}\n")
    assert len(caught.value.mistakes) == 2


@pytest.mark.parametrize("text", ["", "- a\n", "3\n", "{}\n"])
def test_a_file_without_settings_is_refused(tmp_path, text):
    with pytest.raises(RecipeError):
        read(tmp_path, text)


def test_choices_of_other_types_are_other_choices(tmp_path):
    (one,) = read(tmp_path, "a: {type: categorical, choices: [1, 1.0, true, '1']}\n")
    assert [repr(choice) for choice in one.choices] == ["1", "1.0", "True", "'1'"]
