"""Computes on a TPU, or on the CPU that stands for one: all that a training asks of PyTorch/XLA.

    >>> device = opened()    # as PJRT_DEVICE says; imports torch_xla
    >>> settle()             # runs what was recorded and not yet run

Another stack takes this one's place by a file with the same functions (docs/decisions/0081). ``torch_xla``
is imported by ``opened`` only; where it was not (``in_use``), nobody calls the others.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import torch

from reprokit.errors import CannotRunError

PJRT_DEVICE = "PJRT_DEVICE"
#: How many threads XLA computes with on a CPU; it is read when the first device is opened.
THREADS = "NPROC"
_CPU = "CPU"


def opened() -> torch.device:
    """The device that ``PJRT_DEVICE`` names.

    Raises:
        CannotRunError: Nothing names it, there is none here, or the number of threads is left to the machine.
    """
    wanted = os.environ.get(PJRT_DEVICE, "")
    if not wanted:  # torch_xla would take whatever it finds, and the CPU without a word
        fix = "set PJRT_DEVICE=TPU, or PJRT_DEVICE=CPU to compute the same program on the CPU"
        raise CannotRunError("the recipe asks for a TPU, and PJRT_DEVICE is not set", fix=fix)
    if wanted == _CPU and os.environ.get(THREADS) != "1":  # by their number sums are split, and so rounded
        what = "XLA would compute with as many threads as this process has CPUs"
        raise CannotRunError(what, expected=f"{THREADS}=1", actual=os.environ.get(THREADS, "nothing"))
    try:
        import torch_xla  # noqa: PLC0415 - only a TPU's environment has it
        from torch_xla import runtime  # noqa: PLC0415

        found = str(runtime.device_type())
        device: torch.device = torch_xla.device()
    except (ImportError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise CannotRunError(f"the recipe asks for a TPU, and PyTorch/XLA has none: {reason}") from error
    if found != wanted:
        raise CannotRunError("PyTorch/XLA took another device", expected=wanted, actual=found)
    return device


def in_use() -> bool:
    """Whether a device was opened here."""
    return "torch_xla" in sys.modules


def seed(value: int) -> None:
    """Seed the device's generator."""
    sys.modules["torch_xla"].manual_seed(value)


def generator_state() -> int:
    """Where the device's generator stands."""
    return int(_model().get_rng_state())


def restore_generator(state: int) -> None:
    """Put back what ``generator_state`` gave."""
    _model().set_rng_state(state)


def settle() -> None:
    """Run what was recorded: all tensors then hold numbers, and the next update is a program of its own."""
    sys.modules["torch_xla"].sync()


def compilations() -> int:
    """How many programs XLA compiled."""
    from torch_xla.debug import metrics  # noqa: PLC0415 - only where torch_xla is

    found = metrics.metric_data("CompileTime")
    return 0 if found is None else int(found[0])


def _model() -> Any:
    return sys.modules["torch_xla.core.xla_model"]
