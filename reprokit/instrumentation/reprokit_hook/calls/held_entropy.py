"""What Python draws from the system's entropy, held: the same bytes in each run, draw by draw.

Names that are unique by a clock (``uuid1``) are such bytes then too: libraries sort by them.
"""

from __future__ import annotations

import functools
import os
import random
import uuid
from typing import Any


def begin(key: str, process: str) -> None:
    """From now on, give bytes that follow from the key; another process of the program gets others."""
    stream = random.Random(f"{key} {process}")  # noqa: S311 - the same in each run is what is wanted

    def urandom(size: int) -> bytes:
        return stream.getrandbits(8 * size).to_bytes(size, "little") if size else b""

    seed = random.Random.seed

    def seeding(self: random.Random, a: Any = None, version: int = 2) -> None:
        seed(self, stream.getrandbits(256) if a is None else a, version)

    def uuid1(node: Any = None, clock_seq: Any = None) -> uuid.UUID:
        return uuid.UUID(int=stream.getrandbits(128), version=1)

    os.urandom = urandom
    uuid.uuid1 = uuid1
    random._urandom = urandom  # type: ignore[attr-defined]
    if hasattr(os, "getrandom"):
        os.getrandom = lambda size, flags=0: urandom(size)  # noqa: ARG005 - os.getrandom's parameter
    random.Random.seed = seeding  # type: ignore[method-assign]
    random.seed = functools.partial(seeding, random._inst)
    random.seed()
