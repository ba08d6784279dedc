"""AdamW (https://arxiv.org/abs/1711.05101) on one vector that holds all parameters, in two groups of decay.

    >>> adam = FlatAdamW(model, weight_decay=0.1, betas=(0.9, 0.99), epsilon=1e-8)
    >>> adam.step(learning_rate=1e-3, max_norm=1.0)

The kernel is the one behind ``torch.optim.AdamW(fused=True)``, for the reasons that ``flat_adam`` has: its
root is correctly rounded on every CPU, and its constructor imports the compiler. ``plain_step`` is what it
computes.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from recipes.parts.computing import UnscaledLoss, put_back


class FlatAdamW(UnscaledLoss):
    """The optimizer and its state.

    Matrices decay; vectors (the scales of a normalisation, biases) do not.

    Args:
        model: Its parameters become views of ``values``, and their gradients views of ``gradients``.
        weight_decay: The share of a matrix that each step takes away, times the learning rate.
        betas: How much of the mean and of the mean square a step keeps.
        epsilon: Added to the root in the denominator.
    """

    def __init__(
        self, model: nn.Module, *, weight_decay: float, betas: tuple[float, float], epsilon: float
    ) -> None:
        matrices = [one for one in model.parameters() if one.dim() >= 2]
        vectors = [one for one in model.parameters() if one.dim() < 2]
        parameters = [*matrices, *vectors]
        self.betas, self.epsilon = betas, epsilon
        self.values = nn.utils.parameters_to_vector(parameters).detach()
        self.gradients = torch.zeros_like(self.values)
        nn.utils.vector_to_parameters(self.values, parameters)
        sizes = [parameter.numel() for parameter in parameters]
        for parameter, gradient in zip(parameters, torch.split(self.gradients, sizes), strict=True):
            parameter.grad = gradient.view_as(parameter)
        self.steps = torch.zeros((), device=self.values.device)
        self.mean, self.mean_square = torch.zeros_like(self.values), torch.zeros_like(self.values)
        decayed = sum(one.numel() for one in matrices)
        #: Which part of the vectors decays how much.
        self.groups = ((slice(0, decayed), weight_decay), (slice(decayed, None), 0.0))

    def step(self, *, learning_rate: float, max_norm: float) -> Tensor:
        """Scale the gradients down to ``max_norm`` where they are longer, then step.

        Returns:
            The norm that they had, float32 [].
        """
        norm: Tensor = torch.linalg.vector_norm(self.gradients)
        self.steps += 1
        for part, weight_decay in self.groups:
            # A private function of torch, because the public ways to it import the compiler (flat_adam.py).
            torch._fused_adamw_(
                [self.values[part]],
                [self.gradients[part]],
                [self.mean[part]],
                [self.mean_square[part]],
                [],
                [self.steps],
                lr=learning_rate,
                beta1=self.betas[0],
                beta2=self.betas[1],
                weight_decay=weight_decay,
                eps=self.epsilon,
                amsgrad=False,
                maximize=False,
                grad_scale=(norm / max_norm).clamp(min=1.0),  # the kernel divides the gradients by it first
            )
        return norm

    def plain_step(self, *, learning_rate: float, max_norm: float) -> Tensor:
        """``step`` as its paper has it (algorithm 2), up to rounding: its root is not portable."""
        norm: Tensor = torch.linalg.vector_norm(self.gradients)
        self.steps += 1
        first, second = self.betas
        correction = (1 - first ** float(self.steps), 1 - second ** float(self.steps))
        self.gradients /= (norm / max_norm).clamp(min=1.0)
        for part, weight_decay in self.groups:
            self.values[part] -= learning_rate * weight_decay * self.values[part]
        self.mean.mul_(first).add_((1 - first) * self.gradients)
        self.mean_square.mul_(second).add_((1 - second) * self.gradients**2)
        root = self.mean_square.sqrt() / math.sqrt(correction[1]) + self.epsilon
        self.values -= learning_rate / correction[0] * self.mean / root
        return norm

    def state_dict(self) -> dict[str, Tensor]:
        """Its count and moments, as they are: no copies."""
        return {"steps": self.steps, "mean": self.mean, "mean_square": self.mean_square}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take over what ``state_dict`` gave."""
        put_back(self.state_dict(), state)
