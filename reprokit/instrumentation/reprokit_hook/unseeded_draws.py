"""A library's global generator until the program seeds it: each call site draws from one of its own."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

from .frames import own_reader, site_of
from .watch import Watch


class GlobalGenerator:
    """Whether a global generator has been seeded; until then ``new`` makes one for each call site."""

    def __init__(self, library: str, new: Callable[[random.Random], Any], watch: Watch) -> None:
        self._library, self._new, self._watch = library, new, watch
        self._seeded = False
        self._of_site: dict[str, Any] = {}

    def seeded(self) -> None:
        """The program has seeded it: from now on its draws are its own."""
        self._seeded = True
        self._watch.seeded.add(self._library.partition(".")[0])
        if self._watch.progress is not None:
            self._watch.progress.generators.seeded.add(self._library.partition(".")[0])

    def unseeded(self) -> None:
        """It is seeded anew from entropy, as in a process that was just forked."""
        self._seeded = False
        name = self._library.partition(".")[0]
        self._watch.seeded.discard(name)
        if self._watch.progress is not None:
            self._watch.progress.generators.seeded.discard(name)

    def seeding(self, natural: Any) -> Any:

        @functools.wraps(natural)
        def seed(*args: Any, **options: Any) -> Any:
            self.seeded()
            return natural(*args, **options)

        return seed

    def drawing(self, natural: Any, name: str) -> Any:
        watch, called = self._watch, f"{self._library.replace('numpy', 'np')}.{name}"

        @functools.wraps(natural, assigned=("__name__", "__doc__"))
        def draw(*args: Any, **options: Any) -> Any:
            frame = None if self._seeded else own_reader()
            if frame is None:
                return natural(*args, **options)
            site = site_of(frame, "unseeded")
            where = f"{watch.context}{site[1]}:{site[2]}"
            if where not in self._of_site:
                self._of_site[where] = self._new(watch.random(site))
            value = getattr(self._of_site[where], name)(*args, **options)
            watch.seen(site, f"{name} {watch.random(site).getrandbits(64):x}", what=called)
            return value

        draw.__module__, draw.__qualname__ = self._library, name
        return draw
