"""NumPy's sources of chance: the global generator until it is seeded, and every generator without a seed.

>>> watch_numpy_random(numpy.random, watch)
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from .frames import own_caller, site_of
from .watch import Watch

_NO_DRAWS = {"seed", "get_state", "set_state", "get_bit_generator", "set_bit_generator", "default_rng"}


def watch_numpy_random(module: ModuleType, watch: Watch) -> None:
    """Entropy for generators without a seed by call site; the global generator's draws likewise."""
    _seed_sequences(module, watch)
    natural_state = module.mtrand._rand
    state = {"seeded": False}
    of_site: dict[str, Any] = {}
    drawn: set[str] = set()
    for name in dir(natural_state):
        draw = getattr(module, name, None)
        if name.startswith("_") or name in _NO_DRAWS or getattr(draw, "__self__", None) is not natural_state:
            continue
        drawn.add(name)
        setattr(module, name, _unseeded(draw, name, state, of_site, module, watch))
    module.mtrand._rand = _shared(module, natural_state, drawn)
    for name in ("seed", "set_state"):
        setattr(module, name, _seeding(getattr(module, name), state, watch))


def _seed_sequences(module: ModuleType, watch: Watch) -> None:
    bits = module.bit_generator
    natural = bits.randbits

    def randbits(count: int) -> int:
        frame = own_caller()
        if frame is None:
            drawn: int = natural(count)
            return drawn
        return int.from_bytes(watch.entropy(site_of(frame, "unseeded"), count // 8), "little")

    bits.randbits = randbits


def _shared(module: ModuleType, natural_state: Any, drawn: set[str]) -> Any:
    """What libraries take for the global generator: its draws are those of the module's functions."""

    class Shared(module.RandomState):  # type: ignore[misc, name-defined]
        def __getattribute__(self, name: str) -> Any:
            if name.startswith("__"):
                return super().__getattribute__(name)
            return getattr(module if name in drawn else natural_state, name)

    return Shared(natural_state._bit_generator)


def _seeding(natural: Any, state: dict[str, bool], watch: Watch) -> Any:
    @functools.wraps(natural)
    def seeded(*args: Any, **options: Any) -> Any:
        state["seeded"] = True
        if watch.progress is not None:
            watch.progress.generators.seeded.add("numpy")
        return natural(*args, **options)

    return seeded


def _unseeded(
    natural: Any, name: str, state: dict[str, bool], of_site: dict[str, Any], module: ModuleType, watch: Watch
) -> Any:
    @functools.wraps(natural, assigned=("__name__", "__doc__"))
    def draw(*args: Any, **options: Any) -> Any:
        frame = None if state["seeded"] else own_caller()
        if frame is None:
            return natural(*args, **options)
        site = site_of(frame, "unseeded")
        where = f"{watch.context}{site[1]}:{site[2]}"
        if where not in of_site:
            seed = watch.random(site).getrandbits(32)
            of_site[where] = module.RandomState(seed)
        value = getattr(of_site[where], name)(*args, **options)
        watch.seen(site, f"{name} {watch.random(site).getrandbits(64):x}", what=f"np.random.{name}")
        return value

    draw.__module__ = "numpy.random"
    return draw
