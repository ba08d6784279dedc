"""A product by numpy is PyTorch's, gradients included; under autocast PyTorch makes it itself."""

import pytest

torch = pytest.importorskip("torch")

from recipes.parts.products import product  # noqa: E402


def both_ways(x_shape, weight_shape, *, wants_x=True):
    torch.manual_seed(0)
    results = []
    x, weight = torch.randn(*x_shape), torch.randn(*weight_shape)
    for multiply in (product, torch.matmul):
        one, other = x.clone().requires_grad_(wants_x), weight.clone().requires_grad_(True)
        result = multiply(one, other)
        torch.autograd.backward((result**2).sum())
        results.append((result.detach(), one.grad, other.grad))
    return results


@pytest.mark.parametrize(
    ("x_shape", "weight_shape"), [((5, 3), (3, 4)), ((2, 5, 3), (2, 3, 4)), ((1, 1), (1, 1))]
)
@pytest.mark.parametrize("wants_x", [True, False])
def test_values_and_gradients_are_those_of_matmul(x_shape, weight_shape, wants_x):
    ours, theirs = both_ways(x_shape, weight_shape, wants_x=wants_x)
    for mine, other in zip(ours, theirs, strict=True):
        if other is None:
            assert mine is None
        else:
            torch.testing.assert_close(mine, other)


def test_an_expanded_input_and_an_expanded_gradient_are_read_right():
    observations, weight = torch.randn(4, 3), torch.randn(2, 3, 1, requires_grad=True)
    torch.autograd.backward(product(observations.expand(2, -1, -1), weight).sum())
    expected = observations.sum(dim=0).expand(2, 3).unsqueeze(-1)
    torch.testing.assert_close(weight.grad, expected)


def test_under_autocast_it_is_computed_in_bfloat16():
    x, weight = torch.randn(4, 3), torch.randn(3, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert product(x, weight).dtype == torch.bfloat16
    assert product(x, weight).dtype == torch.float32


def test_other_numbers_than_float32_are_left_to_pytorch():
    x = torch.randn(4, 3, dtype=torch.float64)
    assert torch.equal(product(x, x.T), x @ x.T)
