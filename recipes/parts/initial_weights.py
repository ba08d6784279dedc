"""Initial weights of fully connected layers, as [fan_in, fan_out], from torch's global generator.

>>> weight = orthogonal(4, 64, gain=math.sqrt(2))
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def orthogonal(fan_in: int, fan_out: int, *, gain: float) -> Tensor:
    """A weight, float32 [fan_in, fan_out], with orthogonal rows or columns (https://arxiv.org/abs/1312.6120)."""
    weight = torch.empty(fan_out, fan_in)
    nn.init.orthogonal_(weight, gain)
    transposed: Tensor = weight.T.contiguous()
    return transposed


def uniform(fan_in: int, fan_out: int, *, gain: float) -> Tensor:  # noqa: ARG001 - as orthogonal's
    """A weight, float32 [fan_in, fan_out], as PyTorch draws it for a linear layer."""
    bound = 1 / math.sqrt(fan_in)
    return torch.empty(fan_in, fan_out).uniform_(-bound, bound)
