"""Two checkpoints, value by value: every flipped bit is found, and distances are those of the numbers."""

import math

import numpy as np
import pytest

from reprokit.checkpoints import Tensor, content_digest, differences


def tensor(values, dtype):
    bits = np.array(values, dtype={"bfloat16": "u2"}.get(dtype, dtype))
    return Tensor(dtype=dtype, shape=bits.shape, values=bits)


def state(weights, dtype="float32", **others):
    return {"model": {"weight": tensor(weights, dtype)}, "step": 5, **others}


def only(expected, actual):
    (found,) = differences(expected, actual)
    return found


def test_equal_contents_have_no_difference_and_one_digest():
    assert list(differences(state([1.0, 2.0]), state([1.0, 2.0]))) == []
    assert content_digest(state([1.0, 2.0])) == content_digest(state([1.0, 2.0]))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("start", [1.0, -1.0, 0.0, 1e-7])
def test_the_next_number_is_one_unit_away(dtype, start):
    there = np.array([2.0, start], dtype=dtype)
    found = only(state(there, dtype), state([2.0, np.nextafter(there[1], there.dtype.type(np.inf))], dtype))
    assert (found.name, found.num_different, found.num_values) == ("model.weight", 1, 2)
    assert (found.max_ulps, found.index) == (1, (1,))


def test_the_largest_distance_of_all_is_told():
    a, b = np.float32([1, 1, 1]), np.float32([1, 1, 1])
    b[0], b[2] = np.nextafter(b[0], np.float32(2)), b[2] + 5 * np.spacing(b[2])
    found = only(state(a), state(b))
    assert (found.num_different, found.max_ulps, found.index) == (2, 5, (0,))


def test_bfloat16_is_counted_in_its_own_units():
    assert only(state([0x3F80], "bfloat16"), state([0x3F81], "bfloat16")).max_ulps == 1


@pytest.mark.parametrize("other", [math.nan, math.inf])
def test_nan_and_infinity_are_no_distance_away(other):
    assert only(state([1.0]), state([other])).max_ulps is None


def test_the_sign_of_zero_and_the_bits_of_nan_are_differences():
    assert only(state([0.0]), state([-0.0])).num_different == 1
    nan = np.array([np.nan], dtype="float32")
    payload = (nan.view("u4") | 1).view("float32")
    assert only(state(nan), state(payload)).num_different == 1
    assert list(differences(state(nan), state(nan))) == []


@pytest.mark.parametrize(
    ("actual", "what"),
    [
        (state([1.0, 2.0], "float64"), "type"),
        (state([[1.0, 2.0]]), "shape"),
        ({"step": 5}, "missing"),
        (state([1.0, 2.0], more=1), "extra"),
        ({**state([1.0, 2.0]), "step": 5.0}, "type"),
        ({**state([1.0, 2.0]), "step": True}, "type"),
        ({**state([1.0, 2.0]), "step": 6}, "values"),
    ],
)
def test_whatever_else_differs_is_named(actual, what):
    expected = state([1.0, 2.0])
    assert only(expected, actual).what == what
    assert content_digest(expected) != content_digest(actual)


def test_every_flipped_bit_changes_the_digest_and_is_found():
    before = np.arange(4, dtype="float32")
    for bit in range(before.nbytes * 8):
        bits = bytearray(before.tobytes())
        bits[bit // 8] ^= 1 << bit % 8
        after = np.frombuffer(bytes(bits), dtype="float32")
        assert only(state(before), state(after)).index == (bit // 32,)
        assert content_digest(state(before)) != content_digest(state(after))
