"""Attention is the formula of its paper, and no position learns anything from a later one."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from recipes.parts.attention import causal_attention  # noqa: E402

SHAPE = (2, 3, 7, 4)


def drawn(number=3):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(SHAPE, generator=generator) for _ in range(number)]


def test_each_position_is_the_mean_of_those_up_to_it_weighted_by_how_alike_query_and_key_are():
    queries, keys, values = drawn()
    mixed = causal_attention(queries, keys, values).numpy()
    for block, head, position in np.ndindex(SHAPE[:3]):
        seen = slice(0, position + 1)
        query, key, value = (
            tensor[block, head].double().numpy() for tensor in (queries[..., position, :], keys, values)
        )
        weights = np.exp(key[seen] @ query / math.sqrt(SHAPE[-1]))
        expected = weights @ value[seen] / weights.sum()
        np.testing.assert_allclose(mixed[block, head, position], expected, rtol=1e-5, atol=1e-6)


def test_values_and_gradients_are_those_of_pytorchs_fused_kernel():
    results = []
    for attention in (causal_attention, functional.scaled_dot_product_attention):
        inputs = [tensor.requires_grad_() for tensor in drawn()]
        how = {} if attention is causal_attention else {"is_causal": True}
        mixed = attention(*inputs, **how)
        torch.autograd.backward((mixed * drawn(4)[3]).sum())
        results.append([mixed, *(tensor.grad for tensor in inputs)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("later", range(1, SHAPE[2]))
def test_what_comes_later_changes_no_bit_of_what_is_before(later):
    queries, keys, values = drawn()
    before = causal_attention(queries, keys, values)
    keys[..., later, :] += 1
    values[..., later, :] -= 1
    after = causal_attention(queries, keys, values)
    assert torch.equal(before[..., :later, :], after[..., :later, :])
    assert not torch.equal(before[..., later, :], after[..., later, :])


def test_the_first_position_sees_itself():
    queries, keys, values = drawn()
    assert torch.equal(causal_attention(queries, keys, values)[..., 0, :], values[..., 0, :])
