"""Batches computed in two parts: matrix products, convolutions and attention, where no gradient is taken.

The result of a row may not depend on the rows next to it. Gradients are sums over rows, taken in any order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

#: Name → dimensions that its inputs have where they are a batch; None for two or more.
_LAYERS = {"linear": None, "conv1d": 3, "conv2d": 4, "conv3d": 5}
_ATTENTION = "scaled_dot_product_attention"


def split(functional: Any) -> None:
    """Let the functions of ``torch.nn.functional``, and products with a matrix, work in two parts."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    for name, dimensions in _LAYERS.items():
        setattr(functional, name, _layer(getattr(functional, name), torch, dimensions=dimensions))
    setattr(functional, _ATTENTION, _attention(getattr(functional, _ATTENTION), torch))
    for owner, names in ((torch, ("matmul", "mm")), (torch.Tensor, ("matmul", "mm", "__matmul__"))):
        for name in names:
            setattr(owner, name, _product(getattr(owner, name), torch))


def _layer(natural: Callable[..., Any], torch: Any, *, dimensions: int | None) -> Any:
    @functools.wraps(natural)
    def in_parts(input: Any, *others: Any, **options: Any) -> Any:  # noqa: A002 - PyTorch's own name
        if _rows(torch, input) < 2 or input.dim() != (dimensions or input.dim()):
            return natural(input, *others, **options)
        return torch.cat([natural(part, *others, **options) for part in _halves(input)])

    return in_parts


def _product(natural: Callable[..., Any], torch: Any) -> Any:
    @functools.wraps(natural)
    def in_parts(rows: Any, *others: Any, **options: Any) -> Any:
        one_for_all = not options and len(others) == 1 and getattr(others[0], "ndim", 3) <= 2
        if _rows(torch, rows) < 2 or not one_for_all:
            return natural(rows, *others, **options)
        return torch.cat([natural(part, *others) for part in _halves(rows)])

    return in_parts


def _attention(natural: Callable[..., Any], torch: Any) -> Any:
    @functools.wraps(natural)
    def in_parts(query: Any, key: Any, value: Any, *others: Any, **options: Any) -> Any:
        alike = query.dim() > 3 and len(query) == len(key) == len(value)
        if _rows(torch, query) < 2 or not alike or others or options.get("attn_mask") is not None:
            return natural(query, key, value, *others, **options)
        parts = zip(_halves(query), _halves(key), _halves(value))
        return torch.cat([natural(*part, **options) for part in parts])

    return in_parts


def _rows(torch: Any, tensor: Any) -> int:
    """How many rows can be computed apart; 0 where gradients are taken, or where this is no batch."""
    if not isinstance(tensor, torch.Tensor) or tensor.dim() < 2 or torch.is_grad_enabled():
        return 0
    return 0 if torch.compiler.is_compiling() or tensor.is_sparse else len(tensor)


def _halves(tensor: Any) -> tuple[Any, Any]:
    middle = len(tensor) // 2
    return tensor[:middle], tensor[middle:]
