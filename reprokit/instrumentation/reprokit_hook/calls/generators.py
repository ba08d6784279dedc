"""The global random generators: their states, read and put back without a draw."""

from __future__ import annotations

import random
import sys
from typing import Any


def states() -> dict[str, Any]:
    """The state of each that is loaded, by name."""
    found: dict[str, Any] = {"Python's random": random.getstate()}
    numpy = sys.modules.get("numpy.random")
    if hasattr(numpy, "get_state"):
        kind, keys, *rest = numpy.get_state()  # type: ignore[union-attr]
        found["NumPy's global generator"] = (kind, keys.copy(), *rest)
    torch = sys.modules.get("torch")
    if hasattr(torch, "get_rng_state"):
        found["PyTorch's generator"] = torch.get_rng_state().clone()  # type: ignore[union-attr]
    return found


def put(states: dict[str, Any]) -> None:
    """Give each generator this state."""
    for name, state in states.items():
        if name.startswith("Python"):
            random.setstate(state)
        elif name.startswith("NumPy"):
            sys.modules["numpy.random"].set_state(state)
        else:
            sys.modules["torch"].set_rng_state(state)


def as_bytes(states: dict[str, Any]) -> dict[str, bytes]:
    """The same, to be compared."""
    found = {}
    for name, state in states.items():
        if name.startswith("Python"):
            found[name] = repr(state).encode()
        elif name.startswith("NumPy"):
            found[name] = repr((state[0], state[1].tobytes(), state[2:])).encode()
        else:
            found[name] = state.numpy().tobytes()
    return found


def state_of(value: Any, kind: type) -> Any:
    """The state of a generator of a known kind; None where the value is none."""
    if issubclass(kind, random.Random):
        return None if issubclass(kind, random.SystemRandom) else random.Random.getstate(value)
    numpy, torch = sys.modules.get("numpy.random"), sys.modules.get("torch")
    if torch is not None and kind is getattr(torch, "Generator", None):
        return value.get_state()
    if not hasattr(numpy, "BitGenerator"):
        return None
    return _state_of_numpys(value, kind, numpy)


def _state_of_numpys(value: Any, kind: type, numpy: Any) -> Any:
    if issubclass(kind, numpy.RandomState):
        return value.get_state(legacy=False)
    if issubclass(kind, numpy.Generator):
        return value.bit_generator.state
    return value.state if issubclass(kind, numpy.BitGenerator) else None
