"""The written-out perceptron is autograd's, in numpy and on tensors."""

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from recipes.parts.written_out import WrittenOut  # noqa: E402


def parameters(sizes=(4, 16, 8, 3)):
    torch.manual_seed(0)
    weights = [torch.nn.Parameter(torch.randn(one, two)) for one, two in itertools.pairwise(sizes)]
    biases = [torch.nn.Parameter(torch.randn(size)) for size in sizes[1:]]
    for one in (*weights, *biases):
        one.grad = torch.zeros_like(one)
    return weights, biases


def by_autograd(weights, biases, observations, slopes):
    hidden = torch.from_numpy(observations)
    for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        hidden = hidden @ weight + bias
        hidden = torch.relu(hidden) if number < len(weights) - 1 else hidden
    gradients = torch.autograd.grad((hidden * torch.from_numpy(slopes)).sum(), [*weights, *biases])
    return hidden.detach().numpy(), gradients


@pytest.mark.parametrize("sizes", [(4, 3), (4, 16, 3), (4, 16, 8, 3)])
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.2)])
def test_outputs_and_gradients_are_autograds(sizes, precision, tolerance):
    weights, biases = parameters(sizes)
    rng = np.random.default_rng(0)
    observations, slopes = (rng.normal(size=(12, width)).astype(np.float32) for width in (4, 3))
    network = WrittenOut(weights, biases, precision=precision)
    assert network.in_numpy is (precision == "float32")
    passed = network.forward(observations)
    outputs, expected = by_autograd(weights, biases, observations, slopes)
    assert passed.outputs.dtype == np.float32
    np.testing.assert_allclose(passed.outputs, outputs, rtol=tolerance, atol=tolerance)
    for count in (1, 2):  # they are added
        network.add_gradients(passed, slopes)
        for one, right in zip((*weights, *biases), expected, strict=True):
            error = float((one.grad - count * right).norm() / (count * right).norm())
            assert error < tolerance, error
            assert one.grad.dtype == torch.float32


def test_tensors_take_the_lines_that_numpy_takes(monkeypatch):
    weights, biases = parameters()
    rng = np.random.default_rng(0)
    observations, slopes = (rng.normal(size=(12, width)).astype(np.float32) for width in (4, 3))
    results = []
    for in_numpy in (True, False):
        network = WrittenOut(weights, biases)
        if not in_numpy:  # as on another device
            network.in_numpy = False
            network._gradients = [(w.grad, b.grad) for w, b in zip(weights, biases, strict=True)]
        for one in (*weights, *biases):
            one.grad.zero_()
        passed = network.forward(observations)
        network.add_gradients(passed, slopes)
        assert isinstance(passed.inputs[0], np.ndarray) is in_numpy
        results.append([passed.outputs.copy(), *(one.grad.clone().numpy() for one in (*weights, *biases))])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_parameters_that_change_are_seen_where_they_lie():
    weights, biases = parameters()
    network = WrittenOut(weights, biases)
    before = network.forward(np.ones((1, 4), dtype=np.float32)).outputs
    with torch.no_grad():
        biases[-1] += 1.0
    np.testing.assert_allclose(
        network.forward(np.ones((1, 4), dtype=np.float32)).outputs, before + 1, rtol=1e-6
    )


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_what_is_not_finite_is_named_where_that_is_asked_for(precision):
    weights, biases = parameters()
    with torch.no_grad():
        weights[1][2, 2] = math.nan
    rows = np.ones((5, 4), dtype=np.float32)
    assert np.isnan(WrittenOut(weights, biases, precision=precision).forward(rows).outputs).any()
    network = WrittenOut(weights, biases, precision=precision, must_be_finite=True)
    with pytest.raises(FloatingPointError, match="the output of layer 1: 5 of 40 values are not finite"):
        network.forward(rows)
    with pytest.raises(FloatingPointError, match="what the network sees"):
        network.forward(np.full((5, 4), np.inf, dtype=np.float32))
