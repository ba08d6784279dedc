"""NumPy's generators: what every one is seeded with, and draws from the global one before it is seeded.

Every generator of ``numpy.random`` gets its seed through one of three functions that its compiled code looks
up by name: ``randbits`` (entropy), ``_coerce_to_uint32_array`` (seed sequences), ``operator.index`` (legacy
seeds). They are listened to there. Whether that works in this release is tried once, on generators of the
hook's own; where it does not, the record says that NumPy could not be watched.
"""

from __future__ import annotations

import functools
import sys
from types import FrameType, ModuleType
from typing import Any

from . import digests
from .frames import _HOOK
from .light_seeds import where

_GLOBAL = "NumPy's global generator"
_GENERATOR, _LEGACY = "a NumPy generator", "a NumPy RandomState"
_NO_DRAWS = {"seed", "get_state", "set_state", "get_bit_generator", "set_bit_generator", "default_rng"}
_UNPICKLED = "/numpy/random/_pickle.py"


def watch(module: ModuleType, light: Any) -> None:
    """Listen to seeds, and to the global generator."""
    taps = _Taps(module, light)
    taps.install()
    taps.try_once()
    _Global(module, light)


class _Taps:
    def __init__(self, module: Any, light: Any) -> None:
        self._module, self._light = module, light

    @property
    def _local(self) -> Any:
        return self._light.seeds.local

    def install(self) -> None:
        bits = self._module.bit_generator
        legacy = sys.modules["numpy.random._mt19937"]
        randbits, coerce = bits.randbits, bits._coerce_to_uint32_array

        def entropy(count: int) -> int:
            value = int(randbits(count))
            self._entropy(value)
            return value

        def coerced(value: Any) -> Any:
            local = self._local
            if getattr(local, "inside", False):
                return coerce(value)
            local.inside = True
            try:
                made = coerce(value)
            except BaseException:
                local.awaited = None
                raise
            finally:
                local.inside = False
            self._coerced(value)
            return made

        bits.randbits, bits._coerce_to_uint32_array = entropy, coerced
        legacy.__dict__["operator"] = _Index(legacy.__dict__["operator"], self._legacy)

    def _entropy(self, value: int) -> None:
        local = self._local
        local.entropic = value
        caller = _caller()
        if caller is not None and caller.f_code.co_filename.endswith(_UNPICKLED):
            if not _is_copied(caller):
                self._light.seeds.note(_GENERATOR, "restored", "")
            local.last = None
            return
        entry = self._note(_GENERATOR, "entropy", None)
        local.last = (entry, id(caller), caller.f_lasti if caller else 0)

    def _coerced(self, value: Any) -> None:
        """The entropy of a seed sequence, and then its spawn key, which is always a tuple."""
        local = self._local
        awaited = getattr(local, "awaited", None)
        if awaited is None or not isinstance(value, tuple):
            local.awaited = (value,)
            return
        local.awaited = None
        if getattr(local, "entropic", None) is not None and awaited[0] is local.entropic:
            local.entropic = None  # recorded already
            return
        self._note(_GENERATOR, "seed", (awaited[0], value) if value else awaited[0])

    def _legacy(self, value: Any) -> None:
        """A seed of ``RandomState``, which makes a generator from entropy first and then seeds that."""
        last, caller = getattr(self._local, "last", None), _caller()
        if last is not None and (id(caller), caller.f_lasti if caller else 0) == last[1:]:
            last[0]["dropped"] = True
        self._local.last = None
        self._note(_LEGACY, "seed", value)

    def _note(self, generator: str, origin: str, value: Any) -> dict[str, Any]:
        name = getattr(self._local, "global_", "") or generator
        entry: dict[str, Any] = self._light.seeds.note(name, origin, value)
        return entry

    def try_once(self) -> None:
        """See that each of the three is heard; forget what was."""
        seeds = self._light.seeds
        before = len(seeds.made)
        self._module.SeedSequence(5)
        self._module.SeedSequence()
        self._module.RandomState(5)
        heard = [(one["origin"], one["seed"]) for one in seeds.made[before:] if not one.get("dropped")]
        del seeds.made[before:]
        if heard != [("seed", "5"), ("entropy", ""), ("seed", "5")]:
            seeds.unseen.append("the seeds of NumPy's generators could not be watched in this release")


class _Index:
    """The module ``operator`` as ``numpy.random._mt19937`` sees it: ``index`` is heard."""

    def __init__(self, natural: Any, heard: Any) -> None:
        self._natural, self._heard = natural, heard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._natural, name)

    def index(self, value: Any, /) -> int:
        self._heard(value)
        return int(self._natural.index(value))


class _Global:
    """The generator behind ``numpy.random.random`` and its like."""

    def __init__(self, module: Any, light: Any) -> None:
        self._light = light
        self._bits = module.mtrand._rand._bit_generator
        self.is_seeded = False
        self._began = self.state()
        light.numpy = self
        light.at_end.append(self._look)
        for name in ("seed", "set_state"):
            natural = getattr(module, name)
            wrapped = self._seeding(natural, is_state=name == "set_state")
            setattr(module, name, wrapped)
        owner = module.mtrand._rand
        for name in {one for one in dir(owner) if not one.startswith("_")} - _NO_DRAWS:
            draw = getattr(module, name, None)
            if getattr(draw, "__self__", None) is owner:
                setattr(module, name, self._drawing(draw))

    def state(self) -> str:
        """The digest of its state."""
        return digests.of(self._bits.state)

    def _look(self) -> None:
        if not self.is_seeded and self.state() != self._began:
            self._light.seeds.drew(_GLOBAL, None, sure=True)

    def _seeding(self, natural: Any, *, is_state: bool) -> Any:
        @functools.wraps(natural)
        def seed(*args: Any, **options: Any) -> Any:
            self._look()
            local = self._light.seeds.local
            local.global_ = _GLOBAL
            try:
                made = natural(*args, **options)
            finally:
                local.global_ = ""
            self.is_seeded = True
            if is_state:
                self._light.seeds.note(_GLOBAL, "seed", [args, options])
            return made

        return seed

    def _drawing(self, natural: Any) -> Any:
        @functools.wraps(natural, assigned=("__name__", "__doc__"))
        def draw(*args: Any, **options: Any) -> Any:
            if not self.is_seeded and _GLOBAL not in self._light.seeds.drawn:
                self._light.seeds.drew(_GLOBAL, where(), sure=False)
            return natural(*args, **options)

        draw.__module__, draw.__qualname__ = "numpy.random", natural.__name__
        return draw


def _caller() -> FrameType | None:
    """The nearest frame outside the hook: compiled code has none of its own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HOOK):
        frame = frame.f_back
    return frame


def _is_copied(frame: FrameType) -> bool:
    """Whether ``copy`` makes it: then its state is that of a generator of this process."""
    above: FrameType | None = frame.f_back
    return above is not None and above.f_globals.get("__name__") in {"copy", "numpy.random._pickle"}
