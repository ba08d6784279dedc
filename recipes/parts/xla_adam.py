"""Adam and AdamW as PyTorch/XLA compiles them: the formula, in one program with the update's gradients.

    >>> adam = XlaAdam(model, epsilon=1e-8)
    >>> adam.step(learning_rate=1e-3, max_norm=1.0)

The fused kernels of ``flat_adam`` and ``flat_adamw`` are not to be had there, nor parameters that are views
of one vector. Count and moments have the form that they have with those, so a checkpoint can be moved between
an XLA device and a CPU.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from recipes.parts.computing import UnscaledLoss, put_back
from reprokit.runtime import devices


class Gradients:
    """Those of all parameters, each a tensor of its own."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = parameters

    def zero_(self) -> None:
        """Before the first of the gradients that are added up."""
        for parameter in self._parameters:
            _gradient(parameter).zero_()


class XlaAdam(UnscaledLoss):
    """The optimizer and its state.

    Args:
        groups: Parameters in the order of the moments, and the share of them that a step takes away, times
            the learning rate.
        betas: How much of the mean and of the mean square a step keeps.
        epsilon: Added to the root in the denominator.
    """

    def __init__(
        self,
        groups: Sequence[tuple[Sequence[nn.Parameter], float]],
        *,
        betas: tuple[float, float],
        epsilon: float,
    ) -> None:
        self.parameters = [(one, decay) for parameters, decay in groups for one in parameters]
        self.betas, self.epsilon = betas, epsilon
        device = self.parameters[0][0].device
        for parameter, _ in self.parameters:
            parameter.grad = torch.zeros_like(parameter)
        self.gradients = Gradients([parameter for parameter, _ in self.parameters])
        size = sum(one.numel() for one, _ in self.parameters)
        self.steps = torch.zeros((), device=device)
        self.mean, self.mean_square = (torch.zeros(size, device=device) for _ in range(2))
        devices.settle()  # so that the first update is the program of all others

    @torch.no_grad()
    def step(self, *, learning_rate: float, max_norm: float) -> Tensor:
        """Scale the gradients down to ``max_norm`` where they are longer, step, and run what was recorded.

        Returns:
            The norm that they had, float32 [].
        """
        gradients = torch.cat([_gradient(parameter).flatten() for parameter, _ in self.parameters])
        norm: Tensor = torch.linalg.vector_norm(gradients)
        gradients = gradients / (norm / max_norm).clamp(min=1.0)
        first, second = self.betas
        self.steps += 1
        self.mean.mul_(first).add_((1 - first) * gradients)
        self.mean_square.mul_(second).add_((1 - second) * gradients**2)
        root = (self.mean_square / (1 - second**self.steps)).sqrt() + self.epsilon
        change = learning_rate * (self.mean / (1 - first**self.steps)) / root
        sizes = [parameter.numel() for parameter, _ in self.parameters]
        for (parameter, decay), part in zip(self.parameters, torch.split(change, sizes), strict=True):
            if decay:
                parameter.mul_(1 - learning_rate * decay)
            parameter.sub_(part.view_as(parameter))
        devices.settle()
        return norm

    def state_dict(self) -> dict[str, Tensor]:
        """Its count and moments, as they are: no copies."""
        return {"steps": self.steps, "mean": self.mean, "mean_square": self.mean_square}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take over what ``state_dict`` gave, or that of ``flat_adam`` or ``flat_adamw``."""
        moments = {"mean": self.mean, "mean_square": self.mean_square}
        put_back(moments, {name: one for name, one in state.items() if name != "steps"})
        # A number that is copied cannot be overwritten by a step; a sum can, as after every step.
        self.steps.zero_().add_(state["steps"])


def _gradient(parameter: nn.Parameter) -> Tensor:
    if parameter.grad is None:
        raise ValueError("the gradient was taken away from a parameter")
    return parameter.grad
