"""Checks whether this host is ready: ``look`` reads the host, ``examine`` judges what was read.

>>> is_ready(examine(look(Path("."))))
True
"""

from __future__ import annotations

from reprokit.doctor.finding import Finding, State
from reprokit.doctor.findings import examine, is_ready
from reprokit.doctor.surroundings import Surroundings, look

__all__ = ["Finding", "State", "Surroundings", "examine", "is_ready", "look"]
