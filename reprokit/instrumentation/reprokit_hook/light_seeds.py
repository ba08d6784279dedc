"""What generators were seeded with, by the line that seeded them.

An entry has ``generator`` (what it is), ``origin``, ``seed`` and the line. Origins:

- ``seed``: the program gave a seed or a state; ``seed`` is it, or its digest where it is long.
- ``entropy``: no one gave one, so the generator was made from the system's entropy.
- ``default``: no one gave one, and it has the same default seed everywhere.
- ``restored``: it was read from a pickle, with a state that came from elsewhere.

``drawn`` are draws from a global generator that no one had seeded by then. Which seeds follow from the run's
seed is decided by the tool, which compares the entries of several runs.
"""

from __future__ import annotations

import random
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any

from . import digests
from .frames import _HOOK, is_own, own_caller, real

#: Origins of generators that no one gave a seed.
UNGIVEN = ("entropy", "default")
_MOST = 50_000
_RANDOM = random.__file__
_LONGEST = 40
_DEEP = 200
if TYPE_CHECKING:
    Place = tuple[str, int, str, bool]
else:  # before Python 3.9 they take no parameters
    Place = tuple


class Seeds:
    """Of one process."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.drawn: dict[str, dict[str, Any]] = {}
        self.unseen: list[str] = []
        self.num_left_out = 0
        #: Seeds of PyTorch's generators that were given by someone.
        self.known: set[int] = set()
        self.local = threading.local()

    def note(
        self, generator: str, origin: str, value: Any = None, *, place: Place | None = None
    ) -> dict[str, Any]:
        """Record that a generator was seeded; returns the entry."""
        entry: dict[str, Any] = {"generator": generator, "origin": origin, "seed": ""}
        try:
            entry["file"], entry["line"], entry["function"], entry["own"] = place or where()
            if origin not in UNGIVEN:
                entry["seed"] = shown(value)
        except Exception as error:  # an odd seed; the program must not fail by being watched
            self.unseen.append(f"a seed of {generator} could not be recorded: {error!r}")
            return entry
        if len(self.made) < _MOST:
            self.made.append(entry)
        else:
            self.num_left_out += 1
        return entry

    def drew(self, generator: str, place: Place | None, *, sure: bool) -> None:
        """A draw before anything was seeded; ``sure`` where the state shows it, else the line is a guess."""
        known = self.drawn.setdefault(
            generator, {"generator": generator, "file": "", "line": 0, "function": "", "sure": False}
        )
        known["sure"] = known["sure"] or sure
        if place is not None and not known["file"]:
            known["file"], known["line"], known["function"], _ = place

    def as_data(self) -> dict[str, Any]:
        return {
            "seeds": [entry for entry in self.made if not entry.get("dropped")],
            "drawn_unseeded": [one for one in self.drawn.values() if one["sure"]],
            "num_seeds_left_out": self.num_left_out,
            "unseen": list(self.unseen),
        }


def where() -> Place:
    """The program's own line, else the nearest line outside the hook: file, line, function, whether own."""
    frame = own_caller(1, limit=_DEEP)
    if frame is not None:
        return real(frame.f_code.co_filename), frame.f_lineno, frame.f_code.co_name, True
    outside: FrameType | None = sys._getframe(1)
    while outside is not None and outside.f_code.co_filename.startswith((_HOOK, _RANDOM)):
        outside = outside.f_back
    if outside is None:
        return "", 0, "", False
    code = outside.f_code
    return real(code.co_filename), outside.f_lineno, code.co_name, is_own(code.co_filename)


def shown(value: Any) -> str:
    """A seed as text: itself where it is short, else its digest."""
    if hasattr(value, "__index__") and getattr(value, "shape", ()) == ():
        text = str(value.__index__())
    elif isinstance(value, (str, bytes, float)):
        text = repr(value)
    elif isinstance(value, tuple) and len(value) < 4:
        text = " ".join(shown(one) for one in value)
    else:
        return digests.of(value)
    return text if len(text) <= _LONGEST else digests.of(text)
