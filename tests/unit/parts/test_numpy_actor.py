"""A perceptron in numpy gives what PyTorch's operations give, for the parameters as they were when asked."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from recipes.parts.numpy_actor import numpy_actor  # noqa: E402


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_it_is_torchs_perceptron_and_leaves_its_input_alone(activation):
    torch.manual_seed(0)
    layers = [
        (torch.randn(4, 8), torch.randn(1, 8)),
        (torch.randn(8, 6), torch.randn(6)),
        (torch.randn(6, 3), torch.randn(3)),
    ]
    seen = torch.randn(10, 4)
    hidden = seen
    for weight, bias in layers[:-1]:
        hidden = getattr(torch, activation)(hidden @ weight + bias)
    expected = hidden @ layers[-1][0] + layers[-1][1]
    before = seen.clone()
    np.testing.assert_allclose(numpy_actor(layers, activation)(seen.numpy()), expected, rtol=1e-4, atol=1e-5)
    assert torch.equal(seen, before)
