"""Attention by each of its kernels, convolutions, pooling, padding, interpolation and sampling."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from reprokit.features.numerics.inside.determinism_claims.inputs import (
    ANY_DTYPE,
    FLOAT32,
    Case,
    Computation,
    Inputs,
    call,
)

_HEADS, _CHANNELS = 4, 64
_SIZES = {1: 512, 2: 24, 3: 8}  # of an image, by its number of dimensions
_BACKENDS = {
    "math": SDPBackend.MATH,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


def _attention(make: Inputs, *, backend: SDPBackend | None, causal: bool) -> Computation:
    query, key, value = (make.floats(make.batch, _HEADS, make.length, _CHANNELS) for _ in range(3))

    def attend() -> torch.Tensor:
        if backend is None:
            return functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        with sdpa_kernel(backend):
            return functional.scaled_dot_product_attention(query, key, value, is_causal=causal)

    return attend


def _images(make: Inputs, dimensions: int, *, grad: bool = True) -> torch.Tensor:
    return make.floats(make.batch, 4, *(_SIZES[dimensions],) * dimensions, grad=grad)


def _convolution(make: Inputs, *, dimensions: int, transposed: bool) -> Computation:
    name = f"conv_transpose{dimensions}d" if transposed else f"conv{dimensions}d"
    images, weight = (
        _images(make, dimensions),
        make.floats(*((4, 8) if transposed else (8, 4)), *(3,) * dimensions),
    )
    bias = make.floats(8)
    return lambda: getattr(functional, name)(images, weight, bias)


def _pool(make: Inputs, *, name: str, dimensions: int, size: int) -> Computation:
    images = _images(make, dimensions)
    return lambda: getattr(functional, name)(images, size)


def _fractional_pool(make: Inputs, *, dimensions: int) -> Computation:
    images = _images(make, dimensions)
    samples = make.bounded(make.batch, 4, dimensions, grad=False).abs()
    function = getattr(functional, f"fractional_max_pool{dimensions}d")
    return lambda: function(images, 2, output_ratio=(0.5,) * dimensions, _random_samples=samples)


def _unpool(make: Inputs, *, dimensions: int) -> Computation:
    """Back to where the largest came from; windows overlap, so that some places are written twice."""
    pool = getattr(functional, f"max_pool{dimensions}d")
    values, places = pool(_images(make, dimensions, grad=False), 3, stride=2, return_indices=True)
    make.leaves.append(values.requires_grad_())
    size = (_SIZES[dimensions],) * dimensions
    unpool = getattr(functional, f"max_unpool{dimensions}d")
    return lambda: unpool(values, places, 3, stride=2, output_size=size)


def _pad(make: Inputs, *, dimensions: int, mode: str) -> Computation:
    images = _images(make, dimensions)
    return lambda: functional.pad(images, (3, 3) * dimensions, mode=mode)


def _interpolate(make: Inputs, *, dimensions: int, mode: str, antialias: bool = False) -> Computation:
    images = _images(make, dimensions)
    return lambda: functional.interpolate(images, scale_factor=1.5, mode=mode, antialias=antialias)


def _grid_sample(make: Inputs, *, dimensions: int) -> Computation:
    images = _images(make, dimensions)
    grid = make.bounded(make.batch, *(_SIZES[dimensions],) * dimensions, dimensions)
    return lambda: functional.grid_sample(images, grid, align_corners=False)


def _of_dimensions(
    label: str,
    build: Callable[..., Computation],
    *,
    documented: str = "",
    every: tuple[int, ...] = (1, 2, 3),
    **more: object,
) -> tuple[Case, ...]:
    """One case for each number of dimensions; ``{}`` in a name stands for it."""
    return tuple(
        Case(
            name=label.format(number),
            build=functools.partial(build, dimensions=number, **more),
            documented=documented.format(number),
            compiled=FLOAT32 if label == "conv{}d" and number == 2 else (),
        )
        for number in every
    )


def _pools(label: str, *, documented: str = "", every: tuple[int, ...], size: int = 2) -> tuple[Case, ...]:
    return tuple(
        Case(
            name=label.format(number),
            build=functools.partial(_pool, name=label.format(number), dimensions=number, size=size),
            documented=documented.format(number),
        )
        for number in every
    )


_INTERPOLATIONS = (
    ("linear", 1),
    ("bilinear", 2),
    ("bicubic", 2),
    ("trilinear", 3),
    ("nearest", 2),
    ("area", 2),
)

CASES: tuple[Case, ...] = (
    *(
        Case(
            name=f"scaled_dot_product_attention {name}{' causal' if causal else ''}",
            build=functools.partial(_attention, backend=backend, causal=causal),
            compiled=ANY_DTYPE,
        )
        for name, backend in _BACKENDS.items()
        for causal in (False, True)
    ),
    Case(
        name="scaled_dot_product_attention",
        build=functools.partial(_attention, backend=None, causal=False),
        compiled=ANY_DTYPE,
    ),
    *_of_dimensions("conv{}d", _convolution, documented="torch.nn.Conv{}d", transposed=False),
    *_of_dimensions(
        "conv_transpose{}d", _convolution, documented="torch.nn.ConvTranspose{}d", transposed=True
    ),
    *_pools("avg_pool{}d", documented="torch.nn.AvgPool{}d", every=(2, 3)),
    *_pools("adaptive_avg_pool{}d", documented="torch.nn.AdaptiveAvgPool{}d", every=(2, 3), size=5),
    *_pools("max_pool{}d", documented="torch.nn.MaxPool{}d", every=(2, 3)),
    *_pools("adaptive_max_pool{}d", documented="torch.nn.AdaptiveMaxPool{}d", every=(2, 3), size=5),
    *_of_dimensions(
        "fractional_max_pool{}d", _fractional_pool, documented="torch.nn.FractionalMaxPool{}d", every=(2, 3)
    ),
    *_of_dimensions("max_unpool{}d", _unpool, documented="torch.nn.MaxUnpool{}d"),
    *_of_dimensions("reflection_pad{}d", _pad, documented="torch.nn.ReflectionPad{}d", mode="reflect"),
    *_of_dimensions("replication_pad{}d", _pad, documented="torch.nn.ReplicationPad{}d", mode="replicate"),
    *(
        Case(
            name=f"interpolate {mode}",
            build=functools.partial(_interpolate, dimensions=number, mode=mode),
            documented="torch.nn.functional.interpolate",
            words=(f"- {mode}",),
            compiled=FLOAT32 if mode == "bilinear" else (),
        )
        for mode, number in _INTERPOLATIONS
    ),
    Case(
        name="interpolate bilinear antialias",
        build=functools.partial(_interpolate, dimensions=2, mode="bilinear", antialias=True),
        documented="torch.nn.functional.interpolate",
        words=("- bilinear",),
    ),
    *_of_dimensions(
        "grid_sample {}d", _grid_sample, documented="torch.nn.functional.grid_sample", every=(2, 3)
    ),
    Case(name="fold", build=call(functional.fold, (-1, 36, 484), output_size=(24, 24), kernel_size=(3, 3))),
)
