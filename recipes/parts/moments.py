"""Running mean and variance of what a training sees, as a part of its model.

    >>> model.observation_moments = Moments(4)
    >>> model.observation_moments.see(observations)

They are buffers: a checkpoint of the model holds them, and so does a trace of its state.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn


class Moments(nn.Module):
    """Mean and variance of everything seen so far, float64: 0 and 1 before anything is.

    Batches are merged by the parallel algorithm of Chan, Golub and LeVeque
    (https://doi.org/10.1007/978-3-642-51461-6_3).

    Args:
        shape: Of one thing seen.
    """

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("variance", torch.ones(shape, dtype=torch.float64))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    def see(self, seen: np.ndarray) -> None:
        """Take more in.

        Args:
            seen: Numbers, [how many, *shape].
        """
        if not len(seen):
            return
        device, batch, number = self.mean.device, seen.astype(np.float64), float(len(seen))
        before, mean, variance = (
            float(self.count),
            self.mean.numpy(force=True),
            self.variance.numpy(force=True),
        )
        total, shift = before + number, batch.mean(axis=0) - mean
        squares = variance * before + batch.var(axis=0) * number + shift**2 * (before * number / total)
        self.mean.copy_(torch.as_tensor(mean + shift * (number / total), device=device))
        self.variance.copy_(torch.as_tensor(squares / total, device=device))
        self.count.fill_(total)

    def scale(self) -> np.ndarray:
        """One over the standard deviation, float64 [*shape].

        numpy's root is the hardware's, correctly rounded on every CPU; ``torch.sqrt`` is not.
        """
        scale: np.ndarray = 1 / np.sqrt(self.variance.numpy(force=True) + 1e-8)
        return scale


def moments_of(modules: nn.ModuleList) -> list[Moments]:
    """The same as what they are, for those who must know the type."""
    return [one for one in modules if isinstance(one, Moments)]
