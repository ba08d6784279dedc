"""Is this host ready? ``look`` reads the host, ``examine`` judges what was read.

This package knows what reprokit needs of a host; it refuses to know how findings are printed, and
it changes nothing.

    >>> is_ready(examine(look(Path("."))))
    True
"""

from __future__ import annotations

from reprokit.doctor.findings import Finding, State, examine, is_ready
from reprokit.doctor.surroundings import Surroundings, look

__all__ = ["Finding", "State", "Surroundings", "examine", "is_ready", "look"]
