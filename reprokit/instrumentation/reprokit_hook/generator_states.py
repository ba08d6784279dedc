"""The states of every random generator that can be reached, each under a name that is stable between runs.

Python's and NumPy's global generators and PyTorch's defaults count once they are seeded; until then, every
call site draws from its own (see ``stdlib_sources``). Generators that the program creates are named by the
line that creates them, an environment's by the environment. Nothing is drawn here.
"""

from __future__ import annotations

import random
import sys
from array import array
from collections.abc import Callable, Iterator
from typing import Any

from . import digests

_MOST = 16


class Generators:
    """Of one process.

    Attributes:
        seeded: Which global generators the program has seeded: ``random``, ``numpy``.
        others: Each tells further generators by name, such as those of environments.
    """

    def __init__(self) -> None:
        self.seeded: set[str] = set()
        self._made: dict[str, list[Any]] = {}
        self._began_with: int | None = None
        self.others: list[Callable[[], Iterator[tuple[str, Any]]]] = []

    def began(self, torch: Any) -> None:
        """Remember PyTorch's seed of the moment: as long as it stays, no one has seeded it."""
        self._began_with = torch.default_generator.initial_seed()

    def add(self, made: Any, file: str, line: int) -> None:
        """A generator that a line of the program has made; of many, the first ones and the latest."""
        if _state(made) is not None:
            known = self._made.setdefault(f"the generator made at {file}:{line}", [])
            known[_MOST:] = [made]

    def states(self) -> dict[str, str]:
        return {name: digests.of(state) for name, state in self.raw()}

    def raw(self) -> Iterator[tuple[str, Any]]:
        if "random" in self.seeded:
            yield "Python's random", _state(random._inst)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None and "numpy" in self.seeded:
            yield "NumPy's global generator", numpy.get_state()
        torch = sys.modules.get("torch")
        default = getattr(torch, "default_generator", None)
        if default is not None and default.initial_seed() != self._began_with:
            yield "PyTorch's generator", _state(default)
            yield from _of_devices(torch)
        for name, made in list(self._made.items()):
            for number, one in enumerate(made):
                yield f"{name} ({number})" if number else name, _state(one)
        for tell in self.others:
            for name, one in tell():
                yield name, _state(one)


def _of_devices(torch: Any) -> Iterator[tuple[str, Any]]:
    for device in ("cuda", "xpu"):
        module = sys.modules.get(f"torch.{device}")
        if module is not None and getattr(module, "is_initialized", bool)():
            for number, one in enumerate(getattr(module, "default_generators", ())):
                yield f"PyTorch's generator of {device}:{number}", _state(one)


def _state(generator: Any) -> Any:
    if isinstance(generator, random.Random) and not isinstance(generator, random.SystemRandom):
        version, words, spare = random.Random.getstate(generator)
        return version, array("Q", words).tobytes(), spare
    if hasattr(generator, "bit_generator"):
        return generator.bit_generator.state
    if callable(getattr(generator, "get_state", None)) and not isinstance(generator, type):
        return generator.get_state()
    return None
