"""Digests: equal bits give equal ones, others do not."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from reprokit.instrumentation.reprokit_hook.digests import _sums, of

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.mark.parametrize(
    "value",
    [
        1,
        1.0,
        True,
        "1",
        None,
        (1, 2),
        {"a": 1},
        np.arange(3),
        np.float32(1),
        torch.arange(3),
        torch.tensor(1.0),
    ],
    ids=repr,
)
def test_a_value_has_the_digest_of_its_equal_and_of_no_other_kind(value):
    assert of(value) == of(copy.deepcopy(value))
    assert of(value) not in {
        of(other) for other in (2, 1.5, "2", (2, 1), {"a": 2}, np.arange(4), torch.arange(4))
    }


def test_one_bit_of_a_tensor_is_seen():
    one = torch.zeros(1000)
    other = one.clone()
    other.view(torch.int32)[997] ^= 1
    assert of(one) != of(other)


def test_the_sign_of_zero_is_seen():
    assert of(torch.tensor([0.0])) != of(torch.tensor([-0.0]))


def test_shape_and_type_are_seen():
    assert len({of(torch.zeros(4)), of(torch.zeros(2, 2)), of(torch.zeros(4, dtype=torch.int32))}) == 3


def test_a_view_has_the_digest_of_its_copy():
    whole = torch.arange(12.0).view(3, 4)
    assert of(whole.T) == of(whole.T.contiguous())


def test_an_object_without_bits_counts_by_its_type_and_not_by_its_address():
    assert of(object()) == of(object())


def test_what_is_summed_on_an_accelerator_tells_a_swap_two_signs_and_a_bit_apart():
    plain = torch.arange(1.0, 1001.0)
    swapped, signs, bit = plain.clone(), plain.clone(), plain.clone()
    swapped[[3, 4]] = swapped[[4, 3]]
    signs[[10, 20]] *= -1
    bit.view(torch.int32)[999] ^= 1
    told = {_sums(torch, one.view(torch.uint8)) for one in (plain, swapped, signs, bit)}
    assert len(told) == 4
    assert _sums(torch, plain.view(torch.uint8)) == _sums(torch, plain.clone().view(torch.uint8))
