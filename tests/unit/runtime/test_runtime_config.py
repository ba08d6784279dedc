"""config.yaml in, the trainer's Config out; every mistake with its place."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest

from reprokit.errors import RecipeError
from reprokit.runtime.config import Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf, build, parse, read


@dataclass(frozen=True)
class Model:
    sizes: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1), MaxLen(3)] = (64, 64)
    activation: Literal["tanh", "relu"] = "tanh"
    dropout: float | None = None


@dataclass(frozen=True)
class Training:
    steps: Annotated[int, MultipleOf(8)]
    rate: Annotated[float, Gt(0), Lt(1)] = 3e-4
    gamma: Annotated[float, Ge(0), Le(1)] = 0.99
    tags: list[str] = field(default_factory=list)
    span: tuple[int, float] = (1, 2.0)
    shuffle: bool = True


@dataclass(frozen=True)
class Config:
    training: Training
    model: Model = Model()


def built(**training):
    return build(Config, {"training": {"steps": 8, **training}})


def test_what_is_left_out_has_its_default():
    assert built() == Config(training=Training(steps=8))


def test_sections_values_and_comments_are_read():
    text = '# written by a tool\ntraining:\n  steps: 16\n  rate: 1.0e-05\n\nmodel:\n  activation: "relu"\n'
    assert parse(text) == {"training": {"steps": 16, "rate": 1e-5}, "model": {"activation": "relu"}}


def test_sections_nest():
    assert parse("a:\n  b:\n    c: 1\n  d: 2\ne: [1, 2]\n") == {"a": {"b": {"c": 1}, "d": 2}, "e": [1, 2]}


def test_floats_keep_their_bits():
    assert parse("rate: 0.1000000000000000055511151231257827\n")["rate"] == 0.1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("training\n", r"config\.yaml:1: not a setting"),
        ("a: 1\na: 2\n", r"config\.yaml:2: a is there twice"),
        ("a:\n   b: 1\n", r"config\.yaml:2: b is indented like no section"),
        ("a: tanh\n", r"config\.yaml:1: tanh is no JSON value.*double quotes"),
        ("- a\n", r"config\.yaml:1: not a setting"),
    ],
)
def test_a_line_that_is_no_setting_is_named(text, told):
    with pytest.raises(RecipeError, match=told):
        parse(text)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RecipeError, match=r"missing\.yaml"):
        read(tmp_path / "missing.yaml")


def test_a_list_becomes_a_tuple_and_a_whole_number_a_float():
    config = build(Config, {"training": {"steps": 8, "rate": 0.5, "gamma": 1}, "model": {"sizes": [8]}})
    assert config.model.sizes == (8,)
    assert type(config.training.gamma) is float


@pytest.mark.parametrize(
    ("training", "told"),
    [
        ({"rate": 0.0}, r"training\.rate does not fit. expected greater than 0. got 0\.0"),
        ({"rate": 1.0}, "less than 1"),
        ({"gamma": -0.1}, "at least 0"),
        ({"gamma": 1.1}, "at most 1"),
        ({"steps": 9}, "a multiple of 8"),
        ({"steps": 8.0}, "expected int. got 8.0"),
        ({"steps": True}, "expected int. got True"),
        ({"rate": "3e-4"}, "expected float"),
        ({"shuffle": 1}, "expected bool"),
        ({"tags": "a"}, "expected a list"),
        ({"tags": [1]}, "expected str"),
        ({"span": [1]}, "a list of 2"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_what_would(training, told):
    with pytest.raises(RecipeError, match=told):
        built(**training)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"sizes": []}, "a list of at least 1"),
        ({"sizes": [1, 1, 1, 1]}, "a list of at most 3"),
        ({"sizes": [0]}, "at least 1"),
        ({"activation": "gelu"}, "'tanh' or 'relu'"),
        ({"dropout": "none"}, "float or NoneType"),
    ],
)
def test_a_value_of_the_model_that_does_not_fit_is_named(model, told):
    with pytest.raises(RecipeError, match=told):
        build(Config, {"training": {"steps": 8}, "model": model})


def test_null_stands_for_none_where_none_is_allowed():
    assert build(Config, {"training": {"steps": 8}, "model": {"dropout": None}}).model.dropout is None


def test_an_unknown_setting_is_named_with_the_known_ones():
    with pytest.raises(RecipeError, match=r"unknown setting training\.rat\b.*steps, rate"):
        built(rat=0.1)


def test_a_missing_setting_is_named():
    with pytest.raises(RecipeError, match=r"training\.steps is missing"):
        build(Config, {})


def test_a_value_in_place_of_a_section_is_named():
    with pytest.raises(RecipeError, match="model is not a section"):
        build(Config, {"training": {"steps": 8}, "model": 3})
