"""Operations that read or write at indices, where several may write to one place; sorting and counting."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from reprokit.features.numerics.inside.determinism_claims.inputs import FLOAT32, Case, Computation, Inputs

_PLACES = 256
_WIDTH = 64


def _flat(method: str, **arguments: object) -> Callable[[Inputs], Computation]:
    """``zeros.method(0, index, source)`` with many sources for each place."""

    def build(make: Inputs) -> Computation:
        target, source = make.near_one(_PLACES), make.near_one(make.many)
        index = make.indices(make.many, below=_PLACES)
        return lambda: getattr(target, method)(0, index, source, **arguments)

    return build


def _rows(method: str) -> Callable[[Inputs], Computation]:
    """``target.method(0, index, source)`` of whole rows."""

    def build(make: Inputs) -> Computation:
        target, source = make.floats(_PLACES, _WIDTH), make.floats(make.many // _WIDTH, _WIDTH)
        index = make.indices(make.many // _WIDTH, below=_PLACES)
        return lambda: getattr(target, method)(0, index, source)

    return build


def _index_put(make: Inputs, *, accumulate: bool) -> Computation:
    target, source = make.floats(_PLACES), make.floats(make.many)
    index = make.indices(make.many, below=_PLACES)
    return lambda: target.index_put((index,), source, accumulate=accumulate)


def _put(make: Inputs, *, accumulate: bool) -> Computation:
    target, source = make.floats(_PLACES, grad=False), make.floats(make.many, grad=False)
    index = make.indices(make.many, below=_PLACES)
    return lambda: target.clone().put_(index, source, accumulate=accumulate)


def _gather(make: Inputs) -> Computation:
    source, index = make.floats(_PLACES), make.indices(make.many, below=_PLACES)
    return lambda: source.gather(0, index)


def _index_select(make: Inputs) -> Computation:
    source, index = make.floats(_PLACES, _WIDTH), make.indices(make.many // _WIDTH, below=_PLACES)
    return lambda: source.index_select(0, index)


def _getitem(make: Inputs) -> Computation:
    source = make.floats(_PLACES, _PLACES)
    left, right = (make.indices(make.many, below=_PLACES) for _ in range(2))
    return lambda: source[left, right]


def _take(make: Inputs) -> Computation:
    source, index = make.floats(_PLACES), make.indices(make.many, below=_PLACES)
    return lambda: source.take(index)


def _repeat_interleave(make: Inputs) -> Computation:
    source, counts = make.floats(_PLACES, _WIDTH), make.indices(_PLACES, below=32)
    return lambda: source.repeat_interleave(counts, dim=0)


def _masked_select(make: Inputs) -> Computation:
    source, mask = make.floats(make.many), make.indices(make.many, below=2).bool()
    return lambda: source.masked_select(mask)


def _embedding(make: Inputs) -> Computation:
    weight, index = make.floats(_PLACES, _WIDTH), make.indices(make.many // _WIDTH, below=_PLACES)
    return lambda: functional.embedding(index, weight)


def _embedding_bag(make: Inputs, *, mode: str) -> Computation:
    weight, index = make.floats(_PLACES, _WIDTH), make.indices(make.many // _WIDTH // 8, 8, below=_PLACES)
    return lambda: functional.embedding_bag(index, weight, mode=mode)


def _with_ties(make: Inputs, *, function: Callable[[Tensor], tuple[Tensor, ...]]) -> Computation:
    """Few different numbers, so that an index among equals has to be picked."""
    values = make.floats(8, grad=False)[make.indices(make.many // 1024, 1024, below=8)].requires_grad_()
    make.leaves.append(values)
    return lambda: tuple(function(values))


def _bincount(make: Inputs, *, weighted: bool) -> Computation:
    index = make.indices(make.many, below=_PLACES)
    weights = make.floats(make.many, grad=False) if weighted else None
    return lambda: torch.bincount(index, weights)


def _histc(make: Inputs) -> Computation:
    values = make.floats(make.many, grad=False)
    return lambda: torch.histc(values, bins=_PLACES)


def _unique(make: Inputs) -> Computation:
    index = make.indices(make.many, below=_PLACES)
    return lambda: torch.unique(index, return_inverse=True, return_counts=True)


def _ties(name: str, function: Callable[[Tensor], tuple[Tensor, ...]], **about: object) -> Case:
    return Case(name=name, build=functools.partial(_with_ties, function=function), **about)  # type: ignore[arg-type]


_REDUCES = ("sum", "mean", "prod", "amax")

CASES: tuple[Case, ...] = (
    Case(
        name="scatter_add",
        build=_flat("scatter_add"),
        documented="torch.Tensor.scatter_add_",
        compiled=FLOAT32,
    ),
    Case(name="scatter", build=_flat("scatter"), documented="torch.Tensor.scatter", words=("src type",)),
    *(
        Case(
            name=f"scatter_reduce {reduce}",
            build=_flat("scatter_reduce", reduce=reduce),
            documented="torch.Tensor.scatter_reduce",
            words=(f"reduce='{reduce}'",),
        )
        for reduce in _REDUCES
    ),
    Case(name="index_add", build=_rows("index_add"), documented="torch.index_add", compiled=FLOAT32),
    Case(name="index_copy", build=_rows("index_copy"), documented="torch.Tensor.index_copy"),
    *(
        Case(
            name=f"{name} accumulate={accumulate}",
            build=functools.partial(build, accumulate=accumulate),
            documented=documented,
            words=(f"accumulate={accumulate}",),
            compiled=FLOAT32 if name == "index_put" and accumulate else (),
        )
        for name, build, documented in (
            ("index_put", _index_put, "torch.Tensor.index_put"),
            ("put_", _put, "torch.Tensor.put_"),
        )
        for accumulate in (False, True)
    ),
    Case(name="gather", build=_gather, documented="torch.gather"),
    Case(name="index_select", build=_index_select, documented="torch.index_select"),
    Case(name="getitem of index tensors", build=_getitem, documented="torch.Tensor.__getitem__"),
    Case(name="take", build=_take),
    Case(name="repeat_interleave", build=_repeat_interleave, documented="torch.repeat_interleave"),
    Case(name="masked_select", build=_masked_select),
    Case(name="embedding", build=_embedding, compiled=FLOAT32),
    *(
        Case(
            name=f"embedding_bag {mode}",
            build=functools.partial(_embedding_bag, mode=mode),
            documented="torch.nn.EmbeddingBag",
            words=(f"mode='{mode}'",),
        )
        for mode in ("sum", "mean", "max")
    ),
    _ties("sort", lambda values: torch.sort(values, dim=1)),
    _ties("topk", lambda values: torch.topk(values, 100, dim=1)),
    _ties("kthvalue", lambda values: torch.kthvalue(values, 100, dim=1)),
    _ties("median with indices", lambda values: torch.median(values, dim=1), documented="torch.median"),
    _ties("mode", lambda values: torch.mode(values, dim=1)),
    _ties("max with indices", lambda values: torch.max(values, dim=1)),
    _ties("cummax", lambda values: torch.cummax(values, dim=1)),
    Case(
        name="bincount with weights",
        build=functools.partial(_bincount, weighted=True),
        documented="torch.bincount",
        words=("weights",),
    ),
    Case(name="bincount", build=functools.partial(_bincount, weighted=False), dtypes=("float32",)),
    Case(name="histc", build=_histc, documented="torch.histc"),
    Case(name="unique", build=_unique, dtypes=("float32",)),
)
