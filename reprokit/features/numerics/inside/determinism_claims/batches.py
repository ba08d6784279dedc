"""Batch invariance: whether the result of a row depends on how many rows, and which, are computed with it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from reprokit.core.determinism_claims import RAISED
from reprokit.features.numerics.inside.determinism_claims.inputs import Inputs
from reprokit.features.numerics.inside.determinism_claims.repeats import REFUSALS

#: How many rows the whole batch has, and the parts of it that are computed alone.
ROWS = 64
SIZES = (1, 2, 3, 7, 8, 16, 33)

_Function = Callable[[Tensor], Tensor]


def observe(
    *, device: str, dtype: str, only: Callable[[str], bool] = lambda _: True
) -> Iterator[dict[str, Any]]:
    """For each operation: ``sizes`` of batches in which its first rows get other bits than in the whole.

    Yields:
        ``operation``, ``dtype``, ``sizes``, and ``others``: whether the first row changed when all other
        rows changed; or ``message`` where it could not be computed.
    """
    for name, build in _OPERATIONS.items():
        if not only(name):
            continue
        found: dict[str, Any] = {"operation": name, "dtype": dtype}
        try:
            yield found | _compare(build, Inputs(device=device, dtype=getattr(torch, dtype)))
        except REFUSALS as error:
            yield found | {"outcome": RAISED, "message": (str(error).split("\n")[0])[:200]}


@torch.no_grad()
def _compare(build: Callable[[Inputs], tuple[_Function, Tensor]], make: Inputs) -> dict[str, Any]:
    function, rows = build(make)
    whole = function(rows)
    other = torch.cat([rows[:1], make.floats(*rows[1:].shape, grad=False)])
    return {
        "sizes": [size for size in SIZES if not _equal(function(rows[:size].clone()), whole[:size])],
        "others": not _equal(function(other)[:1], whole[:1]),
    }


def _equal(left: Tensor, right: Tensor) -> bool:
    return torch.equal(*(one.contiguous().flatten().view(torch.uint8) for one in (left, right)))


def _fixed(
    function: Callable[..., Tensor], shape: tuple[int, ...], *others: tuple[int, ...], **arguments: object
) -> Callable[[Inputs], tuple[_Function, Tensor]]:
    """``function(rows, *others)`` where the others are the same for every batch."""

    def build(make: Inputs) -> tuple[_Function, Tensor]:
        rows = make.floats(ROWS, *shape, grad=False)
        fixed = [make.floats(*other, grad=False) for other in others]
        return lambda some: function(some, *fixed, **arguments), rows

    return build


def _attention(make: Inputs) -> tuple[_Function, Tensor]:
    rows = make.floats(ROWS, 3, 4, 128, 64, grad=False)
    return lambda some: functional.scaled_dot_product_attention(*some.unbind(1)), rows


def _matrices(make: Inputs) -> tuple[_Function, Tensor]:
    """A product of two matrices for each row."""
    rows = make.floats(ROWS, 2, 64, 64, grad=False)
    return lambda some: torch.bmm(*some.unbind(1)), rows


def _recurrent(make: Inputs) -> tuple[_Function, Tensor]:
    layer = torch.nn.LSTM(64, 64, batch_first=True).to(make.device, make.dtype)
    for parameter in layer.parameters():
        parameter.copy_(make.floats(*parameter.shape, grad=False) / 16)
    return lambda some: layer(some)[0], make.floats(ROWS, 8, 64, grad=False)


_OPERATIONS: dict[str, Callable[[Inputs], tuple[_Function, Tensor]]] = {
    "mm": _fixed(torch.mm, (512,), (512, 256)),
    "mm to one column": _fixed(torch.mm, (512,), (512, 1)),
    "linear": _fixed(functional.linear, (512,), (256, 512), (256,)),
    "bmm": _matrices,
    "conv2d": _fixed(functional.conv2d, (8, 16, 16), (16, 8, 3, 3)),
    "scaled_dot_product_attention": _attention,
    "LSTM": _recurrent,
    "softmax": _fixed(functools.partial(torch.softmax, dim=1), (512,)),
    "layer_norm": _fixed(functools.partial(functional.layer_norm, normalized_shape=(512,)), (512,)),
    "sum of each row": _fixed(functools.partial(torch.sum, dim=1), (512,)),
    "logsumexp": _fixed(functools.partial(torch.logsumexp, dim=1), (512,)),
    "cumsum": _fixed(functools.partial(torch.cumsum, dim=1), (512,)),
    "exp": _fixed(torch.exp, (513,)),
    "tanh": _fixed(torch.tanh, (513,)),
    "gelu": _fixed(functional.gelu, (513,)),
    "avg_pool2d": _fixed(functools.partial(functional.avg_pool2d, kernel_size=2), (4, 16, 16)),
    "interpolate bilinear": _fixed(
        functools.partial(functional.interpolate, scale_factor=1.5, mode="bilinear"), (4, 16, 16)
    ),
}

NAMES = tuple(_OPERATIONS)
