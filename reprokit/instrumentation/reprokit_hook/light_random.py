"""Python's ``random``: who seeds it, and whether its global generator is drawn from before anyone does.

``_random.Random``, which it is built on, is watched where a program makes one by that name.
"""

from __future__ import annotations

import _random
import functools
import random
from typing import Any

from .frames import module_above
from .light_seeds import where

_GLOBAL = "Python's random"
_OWN = "random.Random"
_BELOW = "_random.Random"
_NO_DRAWS = frozenset({"seed", "getstate", "setstate"})
_MOST_KEPT = 1_000
#: Modules that draw nothing but names: of files, of symbols.
_NAMES = frozenset({"tempfile", "sympy.core.symbol"})


def watch(light: Any) -> None:
    """Listen to seeds and states; note the line of a draw for as long as no one has seeded."""
    _Watched(light)


def reseeded_by_fork(light: Any) -> None:
    """Python has seeded its global generator from entropy in the child that was just forked."""
    if light.random is not None:
        light.random.begin()


class _Watched:
    def __init__(self, light: Any) -> None:
        self._light = light
        light.random = self
        self._module: Any = random._inst
        self._natural = _random.Random
        self._own = random.Random  # a module that is reloaded has another class of this name
        self._getstate = random.Random.getstate
        self.begin()
        self._listen()
        self._listen_below()
        light.at_end += [self._look, self._drop_unused]

    def begin(self) -> None:
        """The state that no one has given: as Python made it."""
        self.is_seeded = False
        self._kept: dict[int, tuple[_random.Random, Any, dict[str, Any]]] = {}
        self._began = self._getstate(self._module)

    def _listen(self) -> None:
        seed, setstate = random.Random.seed, random.Random.setstate

        @functools.wraps(seed)
        def seeding(generator: random.Random, a: Any = None, version: int = 2) -> None:
            self._before(generator)
            seed(generator, a, version)
            self._after(generator, a)

        @functools.wraps(setstate)
        def setting(generator: random.Random, state: Any) -> None:
            self._before(generator)
            setstate(generator, state)
            self._after(generator, state)

        random.Random.seed = seeding  # type: ignore[method-assign, assignment]
        random.Random.setstate = setting  # type: ignore[method-assign, assignment]
        random.seed, random.setstate = self._module.seed, self._module.setstate
        random.SystemRandom.seed = self._unseedable  # type: ignore[method-assign]
        for name, draw in list(vars(random).items()):
            if name not in _NO_DRAWS and getattr(draw, "__self__", None) is self._module:
                setattr(random, name, self._drawing(draw))

    def _listen_below(self) -> None:
        natural, before, after = self._natural, self._before, self._after

        class Made(type):
            def __call__(cls, *args: Any, **options: Any) -> Any:
                generator = super().__call__(*args, **options)
                after(generator, args[0] if args else None)
                return generator

            def __instancecheck__(cls, instance: Any) -> bool:
                return isinstance(instance, natural) if cls is Random else super().__instancecheck__(instance)

        class Random(natural, metaclass=Made):  # type: ignore[misc, valid-type]
            def seed(self, n: Any = None) -> None:
                before(self)
                natural.seed(self, n)
                after(self, n)

            def setstate(self, state: Any) -> None:
                before(self)
                natural.setstate(self, state)
                after(self, state)

        Random.__module__, Random.__qualname__ = "_random", "Random"
        _random.Random = Random  # type: ignore[misc]

    def _state_of(self, generator: _random.Random) -> Any:
        own = isinstance(generator, self._own)
        return self._getstate(generator) if own else self._natural.getstate(generator)  # type: ignore[arg-type]

    def _before(self, generator: _random.Random) -> None:
        if generator is self._module:
            self._look()
            self.is_seeded = True
            return
        _, state, entry = self._kept.pop(id(generator), (None, None, None))
        if entry is not None and self._state_of(generator) == state:
            entry["dropped"] = True  # made without a seed, and given one before it was used

    def _after(self, generator: _random.Random, value: Any) -> None:
        name = _OWN if isinstance(generator, random.Random) else _BELOW
        name = _GLOBAL if generator is self._module else name
        if isinstance(generator, random.SystemRandom) or module_above(2) in _NAMES:
            return
        if value is not None:
            self._light.seeds.note(name, "seed", value)
            return
        if module_above(3) in _NAMES:
            return
        entry = self._light.seeds.note(name, "entropy")
        if generator is not self._module and len(self._kept) < _MOST_KEPT:
            self._kept[id(generator)] = generator, self._state_of(generator), entry

    def _unseedable(self, *_: Any, **__: Any) -> None:
        """``SystemRandom`` has no seed."""
        place = where()
        if place[3]:
            self._light.seeds.note("random.SystemRandom", "entropy", place=place)

    def _look(self) -> None:
        if not self.is_seeded and self._getstate(self._module) != self._began:
            self._light.seeds.drew(_GLOBAL, None, sure=True)

    def _drop_unused(self) -> None:
        for generator, state, entry in self._kept.values():
            if self._state_of(generator) == state:
                entry["dropped"] = True

    def _drawing(self, natural: Any) -> Any:
        @functools.wraps(natural, assigned=("__name__", "__doc__"))
        def draw(*args: Any, **options: Any) -> Any:
            if not self.is_seeded and _GLOBAL not in self._light.seeds.drawn:
                self._light.seeds.drew(_GLOBAL, where(), sure=False)
            return natural(*args, **options)

        draw.__module__, draw.__qualname__ = "random", natural.__name__
        return draw
