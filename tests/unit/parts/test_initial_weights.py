"""Initial weights have the shape, the gain and the spread that they promise."""

import math

import pytest

torch = pytest.importorskip("torch")

from recipes.parts.initial_weights import orthogonal, uniform  # noqa: E402


@pytest.mark.parametrize(("fan_in", "fan_out"), [(4, 64), (64, 64), (64, 2)])
def test_orthogonal_weights_turn_and_stretch_and_do_nothing_else(fan_in, fan_out):
    weight = orthogonal(fan_in, fan_out, gain=math.sqrt(2))
    assert weight.shape == (fan_in, fan_out)
    assert weight.is_contiguous()
    gram = weight @ weight.T if fan_in <= fan_out else weight.T @ weight
    torch.testing.assert_close(gram, 2 * torch.eye(min(fan_in, fan_out)), atol=1e-4, rtol=0)


def test_uniform_weights_are_drawn_as_pytorch_draws_a_linear_layers():
    weight = uniform(16, 5_000, gain=3.0)
    assert weight.shape == (16, 5_000)
    assert 0.2499 < float(weight.abs().max()) <= 0.25
    layer = torch.nn.Linear(16, 5_000)
    assert float(weight.std()) == pytest.approx(float(layer.weight.detach().std()), rel=0.02)
