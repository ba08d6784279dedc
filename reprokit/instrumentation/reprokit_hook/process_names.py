"""A name for every process, which no other process of the run has.

>>> claim("/tmp/traces/1", "")
'0'
"""

from __future__ import annotations

import os


def claim(out: str, parent: str) -> str:
    """A process name that no other has: ``0`` for the first, ``0.s1``, ``0.s2`` for what it starts."""
    number = 0
    while True:
        name = f"{parent}.s{number}" if parent else str(number)
        if started(out, name):
            return name
        number += 1


def started(out: str, process: str) -> bool:
    """Claim a name; False where another process has it."""
    try:
        os.close(
            os.open(os.path.join(out, f"started-{process}"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        )
    except FileExistsError:
        return False
    return True
