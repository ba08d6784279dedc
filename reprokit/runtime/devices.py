"""What differs between the devices that a training computes on: opening one, its generators, its facts.

    >>> device = opened("tpu")        # PyTorch/XLA, on a TPU or, with PJRT_DEVICE=CPU, on the host's CPU
    >>> states = generator_states()   # {'xla': 42}: of the devices in use

``torch_xla`` is imported by ``opened("tpu")`` only, and asked only where it was.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import torch

from reprokit.errors import CannotRunError
from reprokit.runtime import cuda_backend

PJRT_DEVICE = "PJRT_DEVICE"
_XLA = "xla"


def opened(name: str) -> torch.device:
    """The device that a recipe asks for.

    Args:
        name: ``cpu``, ``cuda`` or ``tpu``.

    Raises:
        CannotRunError: There is no such device here.
    """
    if name == "tpu":
        return _xla_device()
    return cuda_backend.opened() if name == "cuda" else torch.device(name)


def name_of(device: torch.device) -> str:
    """What a recipe calls a device: ``cpu``, ``cuda`` or ``tpu``."""
    return "tpu" if device.type == _XLA else device.type


def _xla_device() -> torch.device:
    wanted = os.environ.get(PJRT_DEVICE, "")
    if not wanted:  # torch_xla would take whatever it finds, and the CPU without a word
        fix = "set PJRT_DEVICE=TPU, or PJRT_DEVICE=CPU to compute the same program on the CPU"
        raise CannotRunError("the recipe asks for a TPU, and PJRT_DEVICE is not set", fix=fix)
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


def seed(value: int) -> None:
    """Seed the generators of the devices in use; ``torch.manual_seed`` has those of CPU and GPUs."""
    if torch_xla := sys.modules.get("torch_xla"):
        torch_xla.manual_seed(value)


def generator_states() -> dict[str, Any]:
    """Where the generators of GPUs and TPUs stand, of those in use; does not wake one up."""
    states: dict[str, Any] = cuda_backend.generator_states()
    if "torch_xla" in sys.modules:
        states[_XLA] = int(sys.modules["torch_xla.core.xla_model"].get_rng_state())
    return states


def restore_generators(states: Mapping[str, Any]) -> None:
    """Put back what ``generator_states`` gave; a device that is not here has nothing that goes on."""
    cuda_backend.restore_generators(states)
    if _XLA in states and "torch_xla" in sys.modules:
        sys.modules["torch_xla.core.xla_model"].set_rng_state(states[_XLA])


def facts() -> dict[str, Any]:
    """How often XLA compiled a program (``compilations``); empty where it is not in use."""
    if "torch_xla" not in sys.modules:
        return {}
    from torch_xla.debug import metrics  # noqa: PLC0415 - only where torch_xla is

    found = metrics.metric_data("CompileTime")
    return {"compilations": 0 if found is None else int(found[0])}
