"""Callbacks that run right after the program has imported a module.

>>> after("numpy.random", watch_it)
>>> begin()
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

#: What could not be watched, and why.
failed: list[str] = []
_wanted: dict[str, list[Callable[[ModuleType], None]]] = {}


def after(name: str, act: Callable[[ModuleType], None]) -> None:
    """Have ``act`` called with the module once it is there; now, if it is already."""
    if name in sys.modules:
        act(sys.modules[name])
    else:
        _wanted.setdefault(name, []).append(act)


def begin() -> None:
    """Install the finder ahead of the others."""
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds what the other finders find, with a loader that calls back."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The other finders' answer for a module that has callbacks; None for any other."""
        if name not in _wanted:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, _wanted.pop(name))  # type: ignore[assignment]
                return spec
        return None


class _Loader:
    """The real loader, followed by the callbacks."""

    def __init__(self, real: Any, acts: Sequence[Callable[[ModuleType], None]]) -> None:
        self._real = real
        self._acts = acts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return cast("ModuleType | None", self._real.create_module(spec))

    def exec_module(self, module: ModuleType) -> None:
        """As the real loader does; then put it back and call the callbacks."""
        self._real.exec_module(module)
        module.__loader__ = self._real
        if module.__spec__ is not None:
            module.__spec__.loader = self._real
        for act in self._acts:
            try:
                act(module)
            except Exception as error:  # an unknown release of a library must not end the program
                failed.append(f"{module.__name__}: {error!r}")
