"""NumPy's sources of randomness: the global generator until it is seeded, and every unseeded generator."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .frames import own_reader, site_of
from .unseeded_draws import GlobalGenerator
from .watch import Watch

_NO_DRAWS = {"seed", "get_state", "set_state", "get_bit_generator", "set_bit_generator", "default_rng"}


def watch_numpy_random(module: ModuleType, watch: Watch) -> None:
    """Give unseeded generators entropy by call site, and unseeded draws of the global generator likewise."""
    _seed_sequences(module, watch)
    natural_state = module.mtrand._rand
    default = GlobalGenerator("numpy.random", lambda drawn: module.RandomState(drawn.getrandbits(32)), watch)
    drawn: set[str] = set()
    for name in dir(natural_state):
        draw = getattr(module, name, None)
        if name.startswith("_") or name in _NO_DRAWS or getattr(draw, "__self__", None) is not natural_state:
            continue
        drawn.add(name)
        setattr(module, name, default.drawing(draw, name))
    module.mtrand._rand = _shared(module, natural_state, drawn)
    for name in ("seed", "set_state"):
        setattr(module, name, default.seeding(getattr(module, name)))


def _seed_sequences(module: ModuleType, watch: Watch) -> None:
    bits = module.bit_generator
    natural = bits.randbits

    def randbits(count: int) -> int:
        frame = own_reader()
        if frame is None:
            return int(natural(count))
        return int.from_bytes(watch.entropy(site_of(frame, "unseeded"), count // 8), "little")

    bits.randbits = randbits


def _shared(module: ModuleType, natural_state: Any, drawn: set[str]) -> Any:
    """The global generator as libraries get it: it draws through the module's functions."""

    class Shared(module.RandomState):  # type: ignore[misc, name-defined]
        def __getattribute__(self, name: str) -> Any:
            if name.startswith("__"):
                return super().__getattribute__(name)
            return getattr(module if name in drawn else natural_state, name)

    return Shared(natural_state._bit_generator)
