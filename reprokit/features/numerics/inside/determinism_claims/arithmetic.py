"""Reductions, running sums, losses and matrix products."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from reprokit.features.numerics.inside.determinism_claims.inputs import (
    FLOAT32,
    Case,
    Computation,
    Inputs,
    call,
)

_FULL = ("float32", "float64")
_STEPS, _SYMBOLS, _LABELS = 64, 20, 16


def _products(function: Callable[..., Tensor], **arguments: object) -> Callable[[Inputs], Computation]:
    def build(make: Inputs) -> Computation:
        values = make.near_one(make.many // 64, 64)
        return lambda: function(values, **arguments)

    return build


def _classes(make: Inputs, *, spatial: tuple[int, ...], loss: Callable[..., Tensor]) -> Computation:
    rows = make.batch if spatial else make.many // 64
    scores, weights = make.floats(rows, 16, *spatial), make.near_one(16, grad=False)
    targets = make.indices(rows, *spatial, below=16)
    return lambda: loss(scores, targets, weight=weights)


def _batch_norm(make: Inputs) -> Computation:
    images, weight, bias = make.floats(make.batch, 16, 16, 16), make.floats(16), make.floats(16)
    return lambda: functional.batch_norm(images, None, None, weight, bias, training=True)


def _layer_norm(make: Inputs) -> Computation:
    rows, weight, bias = make.floats(make.many // 64, 64), make.floats(64), make.floats(64)
    return lambda: functional.layer_norm(rows, (64,), weight, bias)


def _ctc(make: Inputs, *, cudnn: bool) -> Computation:
    """The loss for sequences; PyTorch hands it to cuDNN for int32 targets on the CPU with full lengths."""
    scores = make.floats(_STEPS, make.batch, _SYMBOLS)
    targets = make.indices(make.batch, _LABELS, below=_SYMBOLS - 1) + 1
    steps, labels = (torch.full((make.batch,), size) for size in (_STEPS, _LABELS))
    if cudnn:
        targets, steps, labels = (one.int().cpu() for one in (targets.reshape(-1), steps, labels))
    else:
        steps, labels = steps.to(make.device), labels.to(make.device)
    return lambda: functional.ctc_loss(functional.log_softmax(scores, 2), targets, steps, labels)


def _sparse(make: Inputs) -> Tensor:
    """A sparse matrix [256, 256] with 8,192 entries."""
    index = make.indices(2, 8_192, below=256)
    values = make.floats(8_192, grad=False)
    matrix = torch.sparse_coo_tensor(index, values, (256, 256), check_invariants=True)
    return matrix.coalesce().requires_grad_()


def _sparse_mm(make: Inputs) -> Computation:
    left, right = _sparse(make), make.floats(256, 64)
    make.leaves.append(left)
    return lambda: torch.sparse.mm(left, right)


def _sparse_bmm(make: Inputs) -> Computation:
    left, right = _sparse(make).detach(), make.floats(2, 256, 64, grad=False)
    pair = torch.stack([left, left])
    return lambda: torch.bmm(pair, right)


def _solved(function: Callable[..., Tensor]) -> Callable[[Inputs], Computation]:
    """Of a matrix that is symmetric and positive definite by its diagonal."""

    def build(make: Inputs) -> Computation:
        half = make.floats(make.batch, 32, 32)
        diagonal = torch.eye(32, device=make.device, dtype=make.dtype) * 512
        return lambda: function(half + half.mT + diagonal)

    return build


def _rnn(make: Inputs, *, kind: type[torch.nn.LSTM | torch.nn.GRU]) -> Computation:
    layers = kind(32, 32, num_layers=2).to(make.device, make.dtype)
    with torch.no_grad():
        for parameter in layers.parameters():
            parameter.copy_(make.floats(*parameter.shape, grad=False) / 16)
    sequence = make.floats(8, make.batch, 32)
    make.leaves.extend(layers.parameters())
    return lambda: layers(sequence)[0]


CASES: tuple[Case, ...] = (
    Case(name="sum", build=call(torch.sum, (-2,)), compiled=FLOAT32),
    Case(name="sum of columns", build=call(torch.sum, (4096, 64), dim=0)),
    Case(name="mean", build=call(torch.mean, (-2,))),
    Case(name="std", build=call(torch.std, (-2,))),
    Case(name="norm", build=call(torch.linalg.vector_norm, (-2,))),
    Case(name="prod", build=_products(torch.prod)),
    Case(name="logsumexp", build=call(torch.logsumexp, (1024, 256), dim=1)),
    Case(name="softmax", build=call(torch.softmax, (1024, 256), dim=1), compiled=FLOAT32),
    Case(name="log_softmax", build=call(torch.log_softmax, (1024, 256), dim=1)),
    Case(name="cumsum", build=call(torch.cumsum, (-2,), dim=0), documented="torch.cumsum", compiled=FLOAT32),
    Case(name="cumsum of rows", build=call(torch.cumsum, (64, 4096), dim=1), documented="torch.cumsum"),
    Case(name="cumprod", build=_products(torch.cumprod, dim=0)),
    Case(name="logcumsumexp", build=call(torch.logcumsumexp, (64, 256), dim=1)),
    Case(name="layer_norm", build=_layer_norm, compiled=FLOAT32),
    Case(name="group_norm", build=call(functional.group_norm, (-1, 16, 16, 16), num_groups=4)),
    Case(name="batch_norm", build=_batch_norm),
    Case(
        name="cross_entropy",
        build=functools.partial(_classes, spatial=(), loss=functional.cross_entropy),
    ),
    Case(
        name="nll_loss",
        build=functools.partial(_classes, spatial=(), loss=functional.nll_loss),
        documented="torch.nn.NLLLoss",
    ),
    Case(
        name="nll_loss of images",
        build=functools.partial(_classes, spatial=(32, 32), loss=functional.nll_loss),
        documented="torch.nn.NLLLoss",
    ),
    Case(name="cdist", build=call(torch.cdist, (64, 32), (64, 32)), dtypes=_FULL),
    *(
        Case(
            name=f"ctc_loss{kind}",
            build=functools.partial(_ctc, cudnn=bool(kind)),
            documented="torch.nn.CTCLoss",
            dtypes=_FULL[:1] if kind else _FULL,
        )
        for kind in ("", " by cuDNN")
    ),
    Case(name="mm", build=call(torch.mm, (512, 256), (256, 128)), compiled=FLOAT32),
    Case(name="mm with a long sum", build=call(torch.mm, (16, 4096), (4096, 16))),
    Case(name="bmm", build=call(torch.bmm, (-1, 64, 128), (-1, 128, 64))),
    Case(name="linear", build=call(functional.linear, (512, 256), (128, 256), (128,))),
    Case(name="baddbmm", build=call(torch.baddbmm, (-1, 64, 64), (-1, 64, 128), (-1, 128, 64))),
    Case(name="bmm of sparse and dense", build=_sparse_bmm, documented="torch.bmm", dtypes=_FULL),
    Case(name="sparse.mm", build=_sparse_mm, dtypes=_FULL),
    Case(name="linalg.inv", build=_solved(torch.linalg.inv), dtypes=_FULL),
    Case(name="linalg.cholesky", build=_solved(torch.linalg.cholesky), dtypes=_FULL),
    Case(name="linalg.eigvalsh", build=_solved(torch.linalg.eigvalsh), dtypes=_FULL),
    Case(name="fft.rfft", build=call(torch.fft.rfft, (-1, 1000)), dtypes=_FULL),
    Case(name="LSTM", build=functools.partial(_rnn, kind=torch.nn.LSTM)),
    Case(name="GRU", build=functools.partial(_rnn, kind=torch.nn.GRU)),
)
