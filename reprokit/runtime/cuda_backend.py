"""NVIDIA GPUs: opening one with every setting that fixes its bits, and its generator.

>>> device = opened()      # cuda:0, with deterministic kernels and without TF32
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import torch

from reprokit.core.numerics import CUDA
from reprokit.errors import CannotRunError


def opened() -> torch.device:
    """The GPU that this process computes on, the first that it sees.

    Raises:
        CannotRunError: torch finds none.
    """
    if not torch.cuda.is_available():
        fix = "look at the driver with nvidia-smi, or run the recipe with device: cpu"
        raise CannotRunError("the recipe asks for a GPU, and torch finds none", expected=CUDA, fix=fix)
    fix_bits()
    return torch.device(CUDA, torch.cuda.current_device())


def fix_bits() -> None:
    """Have torch choose kernels that repeat, in full float32: the flags of ``core.numerics``."""
    # use_deterministic_algorithms() does the same and imports the compiler first (1.2 s).
    torch.set_deterministic_debug_mode("error")
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    # Not by fp32_precision: where only that was set, torch refuses to say what these two are (2.9 to 2.13).
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of 2.9 and 2.11: that these names will go away
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False


def generator_states() -> dict[str, Any]:
    """Where the generator of the GPU in use stands; empty where none is in use, which wakes none up.

    Of that GPU alone: a host with more of them has no other trace.
    """
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return {CUDA: torch.cuda.get_rng_state()}
    return {}


def restore_generators(states: Mapping[str, Any]) -> None:
    """Put back what ``generator_states`` gave; without a GPU there is nothing that goes on."""
    if CUDA in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states[CUDA])
