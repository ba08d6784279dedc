"""What a trainer does otherwise on another device: its optimizer. The rest is in ``runtime.devices``.

>>> adam = adam_of(model, epsilon=1e-8)
>>> adam.gradients.zero_()
>>> torch.autograd.backward(adam.scaled(loss))
>>> norm = adam.step(learning_rate=1e-3, max_norm=1.0)

On a CPU and on GPUs it is a fused kernel on one vector. On an XLA device it is the formula, and ``step`` runs
what was recorded since the last one.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from torch import Tensor, nn

from recipes.parts.computing import Precision, ScaledLoss
from recipes.parts.flat_adam import FlatAdam
from recipes.parts.flat_adamw import FlatAdamW
from recipes.parts.xla_adam import XlaAdam

_XLA = "xla"

T = TypeVar("T")


class Adam(Protocol):
    """The optimizer of a model, and its state."""

    @property
    def gradients(self) -> Any:
        """Those of all parameters: one vector, and on an XLA device what only ``zero_`` can be called on."""

    def scaled(self, loss: T) -> T:
        """The loss to be differentiated: in float16 one whose gradients do not vanish."""

    def step(self, *, learning_rate: float, max_norm: float) -> Tensor:
        """Scale longer gradients down to ``max_norm``, then step; returns their norm before, float32 []."""

    def record(self) -> dict[str, float]:
        """Metrics of the scale of the loss; none where it has none."""

    def state_dict(self) -> dict[str, Tensor]:
        """Its count and moments, as they are."""

    def load_state_dict(self, state: dict[str, Tensor], /) -> Any:
        """Take over what ``state_dict`` gave."""


def adam_of(model: nn.Module, *, epsilon: float, precision: Precision = "float32") -> Adam:
    """Adam for all parameters of a model, where the model is.

    Args:
        model: On its device already.
        epsilon: Added to the root in the denominator.
        precision: What the model is computed in.
    """
    if not _on_xla(model):
        return _with_scale(FlatAdam(model, epsilon=epsilon), precision)
    return XlaAdam([(list(model.parameters()), 0.0)], betas=(0.9, 0.999), epsilon=epsilon)


def adamw_of(
    model: nn.Module,
    *,
    weight_decay: float,
    betas: tuple[float, float],
    epsilon: float,
    precision: Precision = "float32",
) -> Adam:
    """AdamW, by which matrices decay and vectors do not.

    Args:
        model: On its device already.
        weight_decay: The share of a matrix that each step takes away, times the learning rate.
        betas: How much of the mean and of the mean square a step keeps.
        epsilon: Added to the root in the denominator.
        precision: What the model is computed in.
    """
    if not _on_xla(model):
        flat = FlatAdamW(model, weight_decay=weight_decay, betas=betas, epsilon=epsilon)
        return _with_scale(flat, precision)
    matrices = [one for one in model.parameters() if one.dim() >= 2]
    vectors = [one for one in model.parameters() if one.dim() < 2]
    return XlaAdam([(matrices, weight_decay), (vectors, 0.0)], betas=betas, epsilon=epsilon)


def named_gradients(model: nn.Module) -> dict[str, Tensor]:
    """The last gradients by the names of the parameters, of those that have one."""
    return {name: one.grad for name, one in model.named_parameters() if one.grad is not None}


def _with_scale(adam: FlatAdam | FlatAdamW, precision: Precision) -> Adam:
    return ScaledLoss(adam) if precision == "float16" else adam


def _on_xla(model: nn.Module) -> bool:
    return next(model.parameters()).device.type == _XLA
