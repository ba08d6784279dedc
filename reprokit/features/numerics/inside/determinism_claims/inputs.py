"""The inputs of an operation that is repeated: the same bits on every machine, sized for the device."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reprokit.probes.fixed_inputs import float32s

#: What is repeated under ``torch.compile``.
FLOAT32, ANY_DTYPE = ("float32",), ("float32", "bfloat16", "float16", "float64")

#: A computation without arguments; what it returns is compared bit by bit.
Computation = Callable[[], Tensor | tuple[Tensor, ...]]

# Above PyTorch's grain size of 32,768 elements, so that a CPU splits the work over threads; and enough for
# atomic additions of a GPU to meet.
_MANY = {"cpu": 1 << 16, "cuda": 1 << 20}
_BATCH = {"cpu": 4, "cuda": 32}
_LENGTH = {"cpu": 96, "cuda": 1024}


class Inputs:
    """Makes tensors on one device in one floating dtype, each with other numbers than those before it.

    Attributes:
        leaves: Those that gradients are asked for.
        many: How many elements a flat input has.
        batch: How many images, sequences or matrices a batch has.
        length: How long a sequence is that attends to itself.
    """

    def __init__(self, *, device: str, dtype: torch.dtype) -> None:
        self.device = torch.device(device)
        self.dtype = dtype
        self.leaves: list[Tensor] = []
        self.many = _MANY[self.device.type]
        self.batch = _BATCH[self.device.type]
        self.length = _LENGTH[self.device.type]
        self._stream = 100

    def floats(self, *shape: int, grad: bool = True) -> Tensor:
        """Numbers of either sign, 2^-12 to 2^3 in magnitude, rounded to the dtype."""
        return self._leaf(torch.from_numpy(self._numbers(math.prod(shape))).reshape(shape), grad=grad)

    def near_one(self, *shape: int, grad: bool = True) -> Tensor:
        """Numbers around 1, so that a product of many neither vanishes nor overflows."""
        numbers = torch.from_numpy(self._numbers(math.prod(shape))).reshape(shape)
        return self._leaf(1 + numbers / 8192, grad=grad)

    def bounded(self, *shape: int, grad: bool = True) -> Tensor:
        """Numbers in [-1, 1]."""
        return self._leaf(torch.from_numpy(self._numbers(math.prod(shape))).reshape(shape) / 8, grad=grad)

    def indices(self, *shape: int, below: int) -> Tensor:
        """int64 in [0, below); many occur more than once where there are more than ``below``."""
        raw = self._numbers(math.prod(shape)).view(np.uint32) % np.uint32(below)
        return torch.from_numpy(raw.astype(np.int64)).reshape(shape).to(self.device)

    def like(self, result: Tensor) -> Tensor:
        """What a result's gradient is taken with."""
        numbers = torch.from_numpy(self._numbers(result.numel())).reshape(result.shape)
        return numbers.to(self.device, result.dtype)

    def _numbers(self, count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        self._stream += 1
        return float32s(count, stream=self._stream)

    def _leaf(self, values: Tensor, *, grad: bool) -> Tensor:
        leaf = values.to(self.device, self.dtype)
        if grad:
            self.leaves.append(leaf.requires_grad_())
        return leaf


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An operation that is repeated.

    Attributes:
        name: As people call it: ``scatter_add``, ``interpolate bilinear``.
        build: Makes its inputs and returns the computation.
        documented: How the documentation's lists write it; "" where no list has it.
        words: What tells entries of one name apart.
        dtypes: Those that it exists for; empty: all.
        compiled: Dtypes in which it is repeated under ``torch.compile`` too.
    """

    name: str
    build: Callable[[Inputs], Computation]
    documented: str = ""
    words: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    compiled: tuple[str, ...] = ()


def call(
    function: Callable[..., Tensor], *shapes: tuple[int, ...], **arguments: object
) -> Callable[[Inputs], Computation]:
    """A build function: ``function`` of tensors with these shapes; -1 stands for the batch, -2 for many."""

    def build(make: Inputs) -> Computation:
        sizes = {-1: make.batch, -2: make.many}
        tensors = [make.floats(*(sizes.get(size, size) for size in shape)) for shape in shapes]
        return lambda: function(*tensors, **arguments)

    return build
