"""Adam (https://arxiv.org/abs/1412.6980) on one vector that holds all parameters of a model.

    >>> adam = FlatAdam(model, epsilon=1e-5)
    >>> adam.step(learning_rate=3e-4, max_norm=0.5)

The kernel is the one behind ``torch.optim.Adam(fused=True)``, whose root is correctly rounded on every CPU.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from recipes.parts.computing import UnscaledLoss, put_back


class FlatAdam(UnscaledLoss):
    """The optimizer and its state.

    Args:
        model: Its parameters become views of ``values``, and their gradients views of ``gradients``.
        epsilon: Added to the root in the denominator.
    """

    def __init__(self, model: nn.Module, *, epsilon: float) -> None:
        parameters = list(model.parameters())
        self.epsilon = epsilon
        self.values = nn.utils.parameters_to_vector(parameters).detach()
        self.gradients = torch.zeros_like(self.values)
        nn.utils.vector_to_parameters(self.values, parameters)
        sizes = [parameter.numel() for parameter in parameters]
        for parameter, gradient in zip(parameters, torch.split(self.gradients, sizes), strict=True):
            parameter.grad = gradient.view_as(parameter)
        self.steps = torch.zeros((), device=self.values.device)
        self.mean, self.mean_square = torch.zeros_like(self.values), torch.zeros_like(self.values)

    def step(self, *, learning_rate: float, max_norm: float) -> Tensor:
        """Scale the gradients down to ``max_norm`` where they are longer, then step.

        Returns:
            The norm that they had, float32 [].
        """
        norm: Tensor = torch.linalg.vector_norm(self.gradients)
        self.steps += 1
        # A private function of torch, because the public ways to it, torch.optim.Adam(fused=True) and
        # torch.optim.adam.adam, import the compiler (1 s) and cost several times what it does on a small
        # network. tests/unit/parts/test_private_functions.py notices when it is gone or takes other words.
        torch._fused_adam_(
            [self.values],
            [self.gradients],
            [self.mean],
            [self.mean_square],
            [],
            [self.steps],
            lr=learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
            grad_scale=(norm / max_norm).clamp(min=1.0),  # the kernel divides the gradients by it first
        )
        return norm

    def state_dict(self) -> dict[str, Tensor]:
        """Its count and moments, as they are: no copies."""
        return {"steps": self.steps, "mean": self.mean, "mean_square": self.mean_square}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take over what ``state_dict`` gave."""
        put_back(self.state_dict(), state)
