"""PyTorch: seeds of its generators, by the line that gave them."""

from __future__ import annotations

import functools
import sys
from contextlib import suppress
from typing import Any

from . import digests
from .frames import module_above
from .light_seeds import where
from .light_updates import Parameters, state_of

_DEFAULT = "PyTorch's default generator"
_OWN = "a torch.Generator"
_MOST_KEPT = 1_000


def watch(torch: Any, light: Any) -> None:
    """Listen to seeds and to optimizers."""
    seeding = _Seeding(torch, light)
    _watch_generators(torch, light)
    _watch_devices(torch, light)
    Parameters(torch, light, seeding).listen()


class _Seeding:
    """The default generator: given a seed, or drawn from before that."""

    def __init__(self, torch: Any, light: Any) -> None:
        self._torch, self._light = torch, light
        self._seeded = False
        self._began = self._state()
        light.at_end.append(self.look)
        light.at_end.append(self._all_known)
        self._wrap(torch.random.manual_seed, ("manual_seed",))
        self._wrap(torch.random.set_rng_state, ("set_rng_state",))
        self._wrap(torch.random.seed, ("seed",))
        hooks = torch.nn.modules.module
        self._handle = hooks.register_module_parameter_registration_hook(self._registered)

    def _state(self) -> bytes:
        """Read without an operation that anyone would watch."""
        return bytes(self._torch.default_generator.get_state().numpy().tobytes())

    @property
    def is_used(self) -> bool:
        """Whether the default generator was seeded or drawn from: before, it holds entropy."""
        return self._seeded or self._state() != self._began

    def _registered(self, *_: Any) -> None:
        """A parameter is about to be registered: by then, those before it have drawn."""
        with suppress(Exception):  # looked at again at the end; the program must not fail by it
            self.look()

    def look(self) -> None:
        """Whether something was drawn by now, and by which line at the latest."""
        if not self._seeded and _DEFAULT not in self._light.seeds.drawn and self._state() != self._began:
            self._light.seeds.drew(_DEFAULT, where(), sure=True)

    def _wrap(self, natural: Any, names: tuple[str, ...]) -> None:
        name = names[0]

        @functools.wraps(natural)
        def seed(*args: Any, **options: Any) -> Any:
            self.look()
            made = natural(*args, **options)
            if not self._seeded:
                self._seeded = True
                self._handle.remove()
            seeds, default = self._light.seeds, self._torch.default_generator
            seeds.known.add(default.initial_seed())
            if name == "seed":
                seeds.note(_DEFAULT, "entropy")
            else:
                value = self._state() if name == "set_rng_state" else default.initial_seed()
                seeds.note(_DEFAULT, "seed", value)
            return made

        setattr(self._torch.random, name, seed)
        setattr(self._torch, name, seed)

    def _all_known(self) -> None:
        """The seeds that default generators have in the end were all given where it was seen."""
        default = self._torch.default_generator
        if self._seeded and default.initial_seed() not in self._light.seeds.known:
            self._light.seeds.unseen.append(f"{_DEFAULT} was seeded in a way that was not seen")
        for kind in ("cuda", "xpu"):
            module = sys.modules.get(f"torch.{kind}")
            if module is None or not getattr(module, "is_initialized", bool)():
                continue
            for number, one in enumerate(getattr(module, "default_generators", ())):
                if one.initial_seed() not in self._light.seeds.known:
                    self._light.seeds.drew(f"PyTorch's generator of {kind}:{number}", None, sure=True)


def _watch_devices(torch: Any, light: Any) -> None:
    """Seeds that are given to the generators of an accelerator alone."""
    for kind in ("cuda", "xpu", "mps"):
        module = getattr(torch, kind, None)
        for name in ("manual_seed", "manual_seed_all"):
            natural = getattr(module, name, None)
            if natural is not None:
                setattr(module, name, _device_seed(natural, f"PyTorch's generators of {kind}", light))


def _device_seed(natural: Any, generator: str, light: Any) -> Any:
    @functools.wraps(natural)
    def manual_seed(seed: int) -> Any:
        caller = module_above(1)
        made = natural(seed)
        light.seeds.known.add(int(seed))
        if caller not in {"torch.random", "torch.cuda.random"}:  # which passes on what the program gave
            light.seeds.note(generator, "seed", seed)
        return made

    return manual_seed


def _watch_generators(torch: Any, light: Any) -> None:
    """``torch.Generator``: a class of that name that tells its seeds; all others are instances of it too."""
    natural = torch._C.Generator
    unused = _Unused(light)

    class Kind(type(natural)):  # type: ignore[misc]
        def __instancecheck__(cls, one: Any) -> bool:
            return isinstance(one, natural)

        def __subclasscheck__(cls, one: Any) -> bool:
            return issubclass(one, natural)

    class Generator(natural, metaclass=Kind):  # type: ignore[misc, valid-type]
        def __init__(self, *_: Any, **__: Any) -> None:
            unused.made(self)

        def manual_seed(self, seed: Any) -> Any:
            unused.seeded(self, "seed", seed)
            return natural.manual_seed(self, seed)

        def seed(self) -> int:
            unused.seeded(self, "entropy")
            return int(natural.seed(self))

        def set_state(self, state: Any) -> Any:
            unused.seeded(self, "seed", digests.of(state))
            return natural.set_state(self, state)

    Generator.__module__, Generator.__qualname__ = natural.__module__, natural.__qualname__
    Generator.__doc__ = natural.__doc__
    light.at_end.append(unused.drop)
    torch.Generator = Generator


class _Unused:
    """Generators that no one has given a seed yet: they do not count before something is drawn from them."""

    def __init__(self, light: Any) -> None:
        self._light = light
        self._kept: dict[int, tuple[Any, bytes, dict[str, Any]]] = {}

    def made(self, generator: Any) -> None:
        if not digests.at_work:
            entry = self._light.seeds.note(_OWN, "default")
            if len(self._kept) < _MOST_KEPT:
                self._kept[id(generator)] = generator, state_of(generator), entry

    def seeded(self, generator: Any, origin: str, value: Any = None) -> None:
        if not digests.at_work:
            _, state, entry = self._kept.pop(id(generator), (None, None, None))
            if entry is not None and state_of(generator) == state:
                entry["dropped"] = True
            self._light.seeds.note(_OWN, origin, value)

    def drop(self) -> None:
        """At the end: whatever was not drawn from."""
        for generator, state, entry in self._kept.values():
            if state_of(generator) == state:
                entry["dropped"] = True
