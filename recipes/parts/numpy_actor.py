"""A perceptron in numpy, as its parameters stand now: for few rows, PyTorch's calls cost more than its sums.

>>> logits = numpy_actor([(model.weight, model.bias)], "tanh")(observations)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


def numpy_actor(
    layers: Sequence[tuple[Tensor, Tensor]], activation: str
) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    """From observations, float32 [rows, fan_in], to what the last layer gives, float32 [rows, fan_out].

    Args:
        layers: Weight [fan_in, fan_out] and bias [fan_out] or [1, fan_out] of each.
        activation: ``tanh`` or ``relu``, after every layer but the last.
    """
    tanh = activation == "tanh"
    *below, (last_weight, last_bias) = [(w.numpy(force=True), b.numpy(force=True)) for w, b in layers]

    def actor(observations: NDArray[np.float32]) -> NDArray[np.float32]:
        hidden = observations
        for weight, bias in below:
            hidden = hidden @ weight
            hidden += bias
            hidden = np.tanh(hidden, out=hidden) if tanh else np.maximum(hidden, 0, out=hidden)
        outputs: NDArray[np.float32] = hidden @ last_weight
        outputs += last_bias
        return outputs

    return actor
