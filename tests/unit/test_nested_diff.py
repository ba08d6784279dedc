"""Where two nested records differ."""

from __future__ import annotations

import math
import random

import pytest

from reprokit.nested_diff import ABSENT, differences


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, 1.0),
        (1, True),
        (0, False),
        (0.0, -0.0),
        (None, False),
        (None, ""),
        ("1", 1),
        ("nan", math.nan),
        (math.inf, -math.inf),
        (0.1, math.nextafter(0.1, 1)),
        (1e9, 1e9 + 1),
        (10**400, 10**400 + 1),
        ({}, []),
        ({}, None),
        ([], None),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ([1], [1.0]),
        ([True], [1]),
        ([0.0], [-0.0]),
        ([None], []),
        ("a\nb", "a\nc"),
        ("é", "e\u0301"),
    ],
    ids=repr,
)
def test_another_type_or_value_is_a_difference(expected: object, actual: object) -> None:
    assert differences({"s": {"x": expected}}, {"s": {"x": actual}}) == [("s.x", expected, actual)]
    assert differences({"s": {"x": actual}}, {"s": {"x": expected}}) == [("s.x", actual, expected)]


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (math.nan, float("nan")),
        ([math.nan, 1], [float("nan"), 1]),
        ([1, [2, 3]], (1, (2, 3))),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([], ()),
    ],
    ids=repr,
)
def test_nan_is_nan_and_a_list_is_the_tuple_of_its_items(expected: object, actual: object) -> None:
    assert differences({"x": expected}, {"x": actual}) == []


def test_null_is_a_value_and_nothing_is_none() -> None:
    assert differences({"a": None}, {}) == [("a", None, ABSENT)]
    assert differences({}, {"a": {}}) == [("a", ABSENT, {})]
    assert repr(ABSENT) == "absent"


def test_a_section_that_came_or_went_is_told_field_by_field() -> None:
    found = differences({"env": {"gamma": 0.9, "x": {"y": 1}}}, {"model": {"sizes": [1, 2]}})

    assert found == [("env.gamma", 0.9, ABSENT), ("env.x.y", 1, ABSENT), ("model.sizes", ABSENT, [1, 2])]


def test_a_section_that_became_a_value_is_told_with_what_it_held() -> None:
    assert differences({"a": {"b": 1}}, {"a": 2}) == [("a.b", 1, ABSENT), ("a", ABSENT, 2)]


def test_lists_of_records_are_compared_by_position() -> None:
    one = {"gpus": [{"name": "A", "driver": 1}, {"name": "B", "driver": 1}]}
    other = {"gpus": [{"name": "B", "driver": 1}]}

    assert differences(one, other) == [
        ("gpus.0.name", "A", "B"),
        ("gpus.1.name", "B", ABSENT),
        ("gpus.1.driver", 1, ABSENT),
    ]


def test_a_list_of_values_is_one_field_even_where_the_other_side_has_records() -> None:
    assert differences({"x": [1, 2]}, {"x": [{"a": 1}]}) == [("x", [1, 2], ABSENT), ("x.0.a", ABSENT, 1)]


def test_fields_keep_the_order_of_the_first_record() -> None:
    one = dict.fromkeys("zyxabc", 0)
    other = dict.fromkeys("abcxyzq", 1)

    assert [field for field, _, _ in differences(one, other)] == list("zyxabcq")


@pytest.mark.parametrize("name", ["__private", "", "a.b", 'it\'s "quoted"', "0", "root", "\ud800"])
def test_no_name_hides_a_difference(name: str) -> None:
    assert differences({"s": {name: 1}}, {"s": {name: 2}}) == [(f"s.{name}", 1, 2)]


def test_a_dot_in_a_name_draws_no_neighbour_in() -> None:
    one = {"packages": {"ruamel": "1", "ruamel.yaml": "0.18"}}
    other = {"packages": {"ruamel": "2", "ruamel.yaml": "0.18"}}

    assert differences(one, other) == [("packages.ruamel", "1", "2")]


def test_records_with_hardly_a_key_in_common_are_still_compared_key_by_key() -> None:
    one = {"s": {f"a{number}": number for number in range(20)} | {"same": 1}}
    other = {"s": {f"b{number}": number for number in range(20)} | {"same": 2}}

    found = differences(one, other)

    assert len(found) == 41
    assert ("s.same", 1, 2) in found


def test_an_empty_section_that_is_filled_is_told_by_what_came() -> None:
    assert differences({"a": {}}, {"a": {"b": 1}}) == [("a.b", ABSENT, 1)]


def test_one_changed_leaf_is_found_wherever_it_is() -> None:
    """The recursion that this replaced is the reference run."""
    generator = random.Random(0)
    for _ in range(200):
        one, other = _record(generator), _record(generator)
        expected = {path for path in _flat(one).keys() | _flat(other).keys() if _unlike(path, one, other)}

        assert {field for field, _, _ in differences(one, other)} == expected


def _record(generator: random.Random, depth: int = 0) -> dict[str, object]:
    values = [
        0,
        1,
        True,
        None,
        1.0,
        0.0,
        -0.0,
        math.nan,
        "x",
        [1, 2],
        [1, 2.0],
        [True],
        {},
        [],
        [{"a": 1}, {"a": 2}],
    ]
    record: dict[str, object] = {}
    for name in "abc":
        if depth < 3 and generator.random() < 0.4:
            record[name] = _record(generator, depth + 1)
        elif generator.random() < 0.8:
            record[name] = generator.choice(values)
    return record


def _flat(value: object, at: str = "") -> dict[str, str]:
    items: list[tuple[object, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        items = list(enumerate(value))
    if not items:
        return {at: repr(value)} if at else {}
    return {
        path: text
        for name, inner in items
        for path, text in _flat(inner, f"{at}.{name}" if at else str(name)).items()
    }


def _unlike(path: str, one: object, other: object) -> bool:
    left, right = _flat(one), _flat(other)
    filled = "{}" in (left.get(path), right.get(path)) and any(
        name.startswith(tuple(f"{path}.{key}" for key in "abc")) for name in left | right
    )
    return left.get(path) != right.get(path) and not filled
