"""How far an update of PPO moved a policy, and how well its critic knew the returns.

>>> record = measure(model, batch, clip_range=0.2)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def entropy_of(logits: Tensor) -> Tensor:
    """Entropy of each row's distribution, in nats, float32 [rows]."""
    log_probs = logits.log_softmax(dim=1)
    return -(log_probs.exp() * log_probs).sum(dim=1)


def distance_of(ratio: Tensor, log_ratio: Tensor) -> Tensor:
    """Estimate of the KL divergence, float32 [] (http://joschu.net/blog/kl-approx.html, the third one)."""
    return (ratio - 1 - log_ratio).mean()


@torch.no_grad()
def measure(
    model: Callable[[Tensor], tuple[Tensor, Tensor]], batch: Any, *, clip_range: float
) -> dict[str, float]:
    """Hold a model after its update against a whole rollout.

    Args:
        model: From observations to logits and values.
        batch: ``observations``, ``actions``, and as the model before the update had them: ``log_probs``,
            ``values``, ``returns``; tensors [number, …].
        clip_range: How far a ratio of probabilities counts, to either side of 1.
    """
    logits, _ = model(batch.observations)
    log_ratio = -functional.cross_entropy(logits, batch.actions, reduction="none") - batch.log_probs
    ratio = log_ratio.exp()
    unexplained = (batch.returns - batch.values).var() / batch.returns.var()
    return {
        "policy/entropy": entropy_of(logits).mean().item(),
        "policy/approx_kl": distance_of(ratio, log_ratio).item(),
        "policy/clip_fraction": ((ratio - 1).abs() > clip_range).float().mean().item(),
        "value/explained_variance": 1 - unexplained.item(),
        "value/magnitude": batch.values.abs().mean().item(),
    }
