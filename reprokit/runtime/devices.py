"""What differs between the devices that a training computes on: opening one, its generators, its facts.

    >>> device = opened("tpu")        # PyTorch/XLA, on a TPU or, with PJRT_DEVICE=CPU, on the host's CPU
    >>> states = generator_states()   # {'xla': 42}: of the devices in use
    >>> settle()                      # runs what was recorded, on devices that record first

What is asked of PyTorch/XLA stands in ``xla_backend``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import torch

from reprokit.runtime import cuda_backend, xla_backend

_XLA = "xla"


def opened(name: str) -> torch.device:
    """The device that a recipe asks for.

    Args:
        name: ``cpu``, ``cuda`` or ``tpu``.

    Raises:
        CannotRunError: There is no such device here.
    """
    if name == "tpu":
        return xla_backend.opened()
    return cuda_backend.opened() if name == "cuda" else torch.device(name)


def name_of(device: torch.device) -> str:
    """What a recipe calls a device: ``cpu``, ``cuda`` or ``tpu``."""
    return "tpu" if device.type == _XLA else device.type


def settle() -> None:
    """Run what was recorded and not yet run; nothing to do on devices that compute at once.

    Called wherever a state is whole: when it was made, put back, or stepped on. Else the next update would be
    compiled together with what made the state, into a program that rounds otherwise.
    """
    if xla_backend.in_use():
        xla_backend.settle()


def seed(value: int) -> None:
    """Seed the generators of the devices in use; ``torch.manual_seed`` has those of CPU and GPUs."""
    if xla_backend.in_use():
        xla_backend.seed(value)


def generator_states() -> dict[str, Any]:
    """Where the generators of GPUs and TPUs stand, of those in use; does not wake one up."""
    states: dict[str, Any] = cuda_backend.generator_states()
    if xla_backend.in_use():
        states[_XLA] = xla_backend.generator_state()
    return states


def restore_generators(states: Mapping[str, Any]) -> None:
    """Put back what ``generator_states`` gave; a device that is not here has nothing that goes on.

    The last step of putting a checkpoint back: it runs what was recorded first, which moves the generator of
    an XLA device on.
    """
    settle()
    cuda_backend.restore_generators(states)
    if _XLA in states and xla_backend.in_use():
        xla_backend.restore_generator(states[_XLA])


def facts() -> dict[str, Any]:
    """How often XLA or ``torch.compile`` compiled (``compilations``); empty where neither is in use."""
    if xla_backend.in_use():
        return {"compilations": xla_backend.compilations()}
    compiler = sys.modules.get("torch._dynamo.utils")  # not imported to be asked: it takes a second
    found = compiler.counters["stats"]["unique_graphs"] if compiler else 0
    return {"compilations": found} if found else {}
