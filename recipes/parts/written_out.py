"""A small perceptron's outputs and gradients, written out: autograd's calls would cost more than the sums.

    >>> network = WrittenOut(model.weights, model.biases)
    >>> passed = network.forward(observations)
    >>> network.add_gradients(passed, slopes)

In float32 on a CPU the arrays are numpy's, over the parameters' own memory. In another precision or on
another device the same lines run on tensors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from recipes.parts.computing import Precision


class Passed(NamedTuple):
    """A forward pass.

    Attributes:
        layers: Weight and bias of each layer, as they were: numpy arrays, or tensors.
        inputs: What went into each, [batch, fan_in], likewise.
        outputs: What came out of the last, float32 [batch, fan_out].
    """

    layers: list[tuple[Any, Any]]
    inputs: list[Any]
    outputs: NDArray[np.float32]


class WrittenOut:
    """Layers with a ReLU after each but the last.

    Args:
        weights: float32 [fan_in, fan_out] of each layer; where there are gradients, they have theirs already.
        biases: float32 [fan_out] of each.
        precision: What is computed in; parameters and gradients stay float32.
        must_be_finite: Look for the first array that holds a NaN or an infinity.
    """

    def __init__(
        self,
        weights: Iterable[nn.Parameter],
        biases: Iterable[nn.Parameter],
        *,
        precision: Precision = "float32",
        must_be_finite: bool = False,
    ) -> None:
        self.must_be_finite = must_be_finite
        self._parameters = list(zip(weights, biases, strict=True))
        self._dtype: torch.dtype = getattr(torch, precision)
        self._device = self._parameters[0][0].device
        self.in_numpy = precision == "float32" and self._device.type == "cpu"
        # Memory stays where it is, whatever is learned, copied or loaded: it is looked up once.
        self._views = [(w.numpy(force=True), b.numpy(force=True)) for w, b in self._parameters]
        self._gradients = [tuple(map(self._own, pair)) for pair in self._parameters]

    def _own(self, parameter: nn.Parameter) -> Any:
        return parameter.grad.numpy() if self.in_numpy and parameter.grad is not None else parameter.grad

    def _layers(self) -> list[tuple[Any, Any]]:
        if self.in_numpy:
            return self._views
        return [(w.detach().to(self._dtype), b.detach().to(self._dtype)) for w, b in self._parameters]

    def _like_layers(self, array: NDArray[np.float32]) -> Any:
        return array if self.in_numpy else torch.from_numpy(array).to(self._device, self._dtype)

    def forward(self, observations: NDArray[np.float32]) -> Passed:
        """Put rows through the layers, float32 [batch, fan_in].

        Raises:
            FloatingPointError: What goes in or comes out of a layer is not finite.
        """
        if self.must_be_finite:
            _check(observations, "what the network sees")
        layers, inputs = self._layers(), [self._like_layers(observations)]
        last = len(layers) - 1
        for number, (weight, bias) in enumerate(layers):
            out = inputs[number] @ weight
            out += bias
            if number < last:
                out = np.maximum(out, 0, out=out) if self.in_numpy else torch.relu_(out)
            inputs.append(out)
            if self.must_be_finite:
                _check(out, f"the output of layer {number}")
        outputs = inputs.pop()
        return Passed(layers, inputs, outputs if self.in_numpy else outputs.float().numpy(force=True))

    def add_gradients(self, passed: Passed, slopes: NDArray[np.float32]) -> None:
        """Add to the gradients of all parameters.

        Args:
            passed: What ``forward`` gave.
            slopes: Of the loss by the outputs, float32 [batch, fan_out].

        Raises:
            FloatingPointError: A gradient is not finite.
        """
        delta = self._like_layers(slopes)
        for number in reversed(range(len(passed.layers))):
            for_weight, for_bias = self._gradients[number]
            for_weight += passed.inputs[number].T @ delta
            for_bias += delta.sum(0)
            if self.must_be_finite:
                _check(for_weight, f"the gradient of weights.{number}")
            if number:
                delta = delta @ passed.layers[number][0].T
                delta *= passed.inputs[number] > 0


def _check(values: Any, name: str) -> None:
    array = values.float().numpy(force=True) if isinstance(values, Tensor) else values
    if number := np.count_nonzero(~np.isfinite(array)):
        raise FloatingPointError(f"{name}: {number} of {array.size} values are not finite")
