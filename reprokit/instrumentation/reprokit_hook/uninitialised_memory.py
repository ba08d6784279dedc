"""Memory that is read before it is written: filled with random numbers of the run's key and the call site.

A program that writes before it reads cannot notice.
"""

from __future__ import annotations

import sys
from typing import Any

from .frames import Site
from .watch import Watch

NAMES = frozenset(
    {
        "empty",
        "empty_like",
        "new_empty",
        "ndarray",
        "empty_strided",
        "resize_",
        "EmptyTensor",
        "FloatTensor",
        "Tensor",
        "DoubleTensor",
        "empty_permuted",
    }
)
_MOST_BYTES = 256 << 20


def unwritten(watch: Watch, site: Site, real: Any, args: Any, options: Any) -> Any:
    """Call, and fill what came if it is an array or tensor that no one has written."""
    before = getattr(getattr(real, "__self__", None), "numel", None)
    size = before() if callable(before) and site and real.__name__ == "resize_" else 0
    made = real(*args, **options)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and type(made) is numpy.ndarray:
        if _is_view(args, options) or made.dtype.hasobject or not 0 < made.nbytes <= _MOST_BYTES:
            return made
        _fill_array(watch, site, made, numpy)
    elif (
        torch is not None
        and isinstance(made, torch.Tensor)
        and _is_unwritten(real, args, torch)
        and made.numel() > size
        and made.numel() * made.element_size() <= _MOST_BYTES
    ):
        _fill_tensor(watch, site, made, torch, size)
    return made


def _is_view(args: Any, options: Any) -> bool:
    """``np.ndarray(shape, dtype, buffer)`` shows memory that someone else has written."""
    return (len(args) > 2 and args[2] is not None) or options.get("buffer") is not None


def _is_unwritten(real: Any, args: Any, torch: Any) -> bool:
    if not isinstance(real, type):
        return True
    return bool(args) and all(isinstance(arg, int) for arg in args) and issubclass(real, torch.Tensor)


def _numbers(watch: Watch, site: Site, count: int, numpy: Any) -> Any:
    seed = int.from_bytes(watch.entropy(site, 16), "little")
    return numpy.random.Generator(numpy.random.PCG64(seed)).normal(size=count)


def _fill_array(watch: Watch, site: Site, made: Any, numpy: Any) -> None:
    kind = made.dtype.kind
    numbers = _numbers(watch, site, made.size, numpy).reshape(made.shape)
    if kind in "fc":
        made[...] = numbers
    elif kind in "iub":
        made[...] = (abs(numbers) * 31 % 127).astype(made.dtype) if kind != "b" else numbers > 0


def _fill_tensor(watch: Watch, site: Site, made: Any, torch: Any, size: int) -> None:
    state = torch.Generator().manual_seed(int.from_bytes(watch.entropy(site, 7), "little"))
    numbers = torch.randn(made.numel(), generator=state)
    with torch.no_grad():
        flat = made.detach()
        if made.dtype.is_floating_point or made.dtype.is_complex:
            values = numbers.to(made.dtype)
        elif made.dtype is torch.bool:
            values = numbers > 0
        else:
            values = (numbers.abs() * 31 % 127).to(made.dtype)
        if size and flat.is_contiguous():
            flat.view(-1)[size:].copy_(values[size:])
        elif not size:
            flat.copy_(values.view(flat.shape))
